//! 파일에 관한 말.

table! {
    file_action: FileAction => text {
        AppendTo => "쓸";
        Create => "만들";
        CreateLockFile => "잠글";
        DescribeLock => "잠글";
        EncodeLine => "쓸";
        FindFolder => "읽을";
        Flush => "쓸";
        FollowLink => "읽을";
        List => "읽을";
        Lock => "잠글";
        LookAt => "읽을";
        MakeFolder => "만들";
        Open => "읽을";
        PutBack => "옮길";
        Read => "읽을";
        Remove => "지울";
        Rename => "옮길";
        Replace => "옮길";
        Rotate => "옮길";
        SetOwner => "쓸";
        Truncate => "쓸";
        Write => "쓸";
    }

    irregular_file: IrregularFile => text {
        Folder => "폴더";
        Link => "링크";
        OwnRecord => "자체 기록의 이름";
        LinkPipeOrDevice => "링크, 파이프 또는 장치";
        PipeOrDevice => "파이프 또는 장치";
        SocketOrDevice => "소켓 또는 장치";
    }
}
