//! Tests over ordinary folders that look like control groups; the tests of `bowline-shim` use real
//! ones.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use super::*;

/// Creates a folder that looks like a group which delegates these controllers.
fn group(path: &Path, controllers: &str) {
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("cgroup.procs"), "").unwrap();
    fs::write(path.join("cgroup.subtree_control"), controllers).unwrap();
}

#[test]
fn limits_are_written_as_the_kernel_wants_them() {
    let folder = tempfile::tempdir().unwrap();
    let spec = CgroupSpec {
        memory_bytes: Some(512 << 20),
        processes: Some(100),
        cpu_percent: Some(150),
        ..CgroupSpec::in_parent(folder.path().to_owned())
    };
    let group = Cgroup::create(&spec, "a1").unwrap();
    assert_eq!(group.path(), folder.path().join("bowline-a1"));
    let read = |file: &str| fs::read_to_string(group.path().join(file)).unwrap();
    assert_eq!(read("memory.max"), "536870912");
    assert_eq!(read("memory.swap.max"), "0");
    assert_eq!(read("pids.max"), "100");
    assert_eq!(read("cpu.max"), "150000 100000");
    // Limits that were not set are left as they are.
    let none = Cgroup::create(&CgroupSpec::in_parent(folder.path().to_owned()), "a2").unwrap();
    assert_eq!(fs::read_dir(none.path()).unwrap().count(), 0);
    none.remove();
    assert!(!none.path().exists());
}

#[test]
fn only_the_group_of_this_attempt_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["bowline-a1", "bowline-a2", "user.slice"] {
        group(&folder.path().join(name), "");
    }
    let open = |name: &str| Cgroup::open(&folder.path().join(name), "a1").is_some();
    assert!(open("bowline-a1"));
    assert!(!open("bowline-a2") && !open("user.slice") && !open("") && !open("bowline-a1/.."));
    fs::remove_file(folder.path().join("bowline-a1/cgroup.procs")).unwrap();
    assert!(!open("bowline-a1"));
}

#[test]
fn limits_are_taken_from_the_nearest_group_that_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let (root, slice) = (folder.path(), folder.path().join("slice"));
    let own = slice.join("x.scope");
    group(root, "cpu memory pids");
    group(&slice, "memory pids cpu io");
    group(&own, "");
    let support = CgroupSupport::inspect_groups(&own, root, &[]);
    assert_eq!(support.parent.as_deref(), Some(own.as_path()));
    assert_eq!(support.limiting.as_deref(), Some(slice.as_path()));
    assert!(support.memory && support.processes && support.cpu);
    assert_eq!(support.reason, None);
    // No other files: the kernel's part is missing here, and no probe is left.
    assert!(!support.freeze && !support.kill);
    assert_eq!(fs::read_dir(&own).unwrap().count(), 2);

    fs::write(slice.join("cgroup.subtree_control"), "pids").unwrap();
    fs::write(root.join("cgroup.subtree_control"), "").unwrap();
    let support = CgroupSupport::inspect_groups(&slice, root, &[]);
    assert!(support.processes && !support.memory && !support.cpu);
    let told = support.reason.unwrap().to_string();
    assert!(told.starts_with("memory, cpu: not handed on by "), "{told}");

    let nowhere = CgroupSupport::inspect_groups(&root.join("gone"), &root.join("gone"), &[]);
    assert_eq!(nowhere.parent, None);
    assert!(
        nowhere
            .reason
            .unwrap()
            .to_string()
            .contains("may not make a group")
    );
}
