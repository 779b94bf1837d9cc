//! Words of messages about files.

messages! {
    /// Action on a file or folder that failed. In Korean it is the stem of a verb, used before
    /// "수 없습니다" and "권한이 없습니다".
    #[derive(Copy)]
    FileAction, file_action => text {
        AppendTo,
        Create,
        CreateLockFile,
        DescribeLock,
        EncodeLine,
        FindFolder,
        Flush,
        FollowLink,
        List,
        Lock,
        LookAt,
        MakeFolder,
        Open,
        PutBack,
        Read,
        Remove,
        Rename,
        Replace,
        Rotate,
        SetOwner,
        Truncate,
        Write,
    }

    /// Kind of an entry in the place of a file.
    #[derive(Copy)]
    IrregularFile, irregular_file => text {
        Folder,
        Link,
        OwnRecord,
        LinkPipeOrDevice,
        PipeOrDevice,
        SocketOrDevice,
    }
}
