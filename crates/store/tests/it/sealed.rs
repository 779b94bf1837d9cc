//! Sealed values.

use bowline_store::SecretKey;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_value_is_opened_by_its_key_for_its_purpose_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let key = SecretKey::open(&path).unwrap();
    let sealed = key.seal("task_a TEA_KEY", b"sk-green-tea").unwrap();
    assert!(!sealed.contains("green"));
    assert_ne!(sealed, key.seal("task_a TEA_KEY", b"sk-green-tea").unwrap());
    let again = SecretKey::open(&path).unwrap();
    let opened = again.open_sealed("task_a TEA_KEY", &sealed).unwrap();
    assert_eq!(opened, b"sk-green-tea");
    assert!(again.open_sealed("task_b TEA_KEY", &sealed).is_err());
    let other = SecretKey::open(&folder.path().join("other")).unwrap();
    assert!(other.open_sealed("task_a TEA_KEY", &sealed).is_err());
    for broken in ["", "00", "zz", &sealed[2..]] {
        assert!(again.open_sealed("task_a TEA_KEY", broken).is_err());
    }
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_key_that_others_can_read_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    SecretKey::open(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = SecretKey::open(&path).unwrap_err();
    assert!(refused.to_string().contains("0600"), "{refused}");
}
