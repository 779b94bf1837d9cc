//! English for words of messages about files.

table! {
    file_action: FileAction => text {
        AppendTo => "append to";
        Create => "create";
        CreateLockFile => "create a lock file in";
        DescribeLock => "describe the lock of";
        EncodeLine => "encode a line of";
        FindFolder => "find the folder";
        Flush => "flush";
        FollowLink => "follow the link";
        List => "list";
        Lock => "lock";
        LookAt => "look at";
        MakeFolder => "make the folder";
        Open => "open";
        PutBack => "put back";
        Read => "read";
        Remove => "remove";
        Rename => "rename";
        Replace => "replace";
        Rotate => "rotate";
        SetOwner => "set the owner of";
        Truncate => "truncate";
        Write => "write";
    }

    irregular_file: IrregularFile => text {
        Folder => "a folder";
        Link => "a link";
        OwnRecord => "a name among its own records";
        LinkPipeOrDevice => "a link, pipe or device";
        PipeOrDevice => "a pipe or device";
        SocketOrDevice => "a socket or device";
    }
}
