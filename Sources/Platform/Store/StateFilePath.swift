/// The paths of the files in a state directory.
enum StateFilePath {
    static func data(in directory: String) -> String { directory + "/data.mdb" }
    /// LMDB's table of readers.
    static func readerTable(in directory: String) -> String { directory + "/data.mdb-lock" }
    static func mark(in directory: String) -> String { directory + "/mark" }
}
