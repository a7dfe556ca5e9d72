/// The number of file descriptors that a stage opens, apart from its connections to clients and to APNs.
package struct StageFileDescriptors: Sendable {
    /// A Kafka client has an event descriptor, and for each broker of a small cluster a socket and a pipe. The embedded
    /// broker has the other end of each socket.
    private static let perClient = 16
    /// LMDB has the file open twice, and has a lock file.
    private static let perFile = 3
    /// SQLite has the file, its log and the shared memory of the log.
    private static let perDatabase = 3

    private let clients: Int
    private let filesPerLane: Int
    private let databasesPerLane: Int

    /// - Parameters:
    ///   - clients: Kafka clients of the stage.
    ///   - filesPerLane: LMDB files of each lane that the stage owns.
    ///   - databasesPerLane: SQLite files of each lane that the stage owns.
    package init(clients: Int, filesPerLane: Int = 0, databasesPerLane: Int = 0) {
        self.clients = clients
        self.filesPerLane = filesPerLane
        self.databasesPerLane = databasesPerLane
    }

    /// Returns the number for a process that owns all lanes, as the last running process of a stage does.
    package func count(lanes: Int) -> Int {
        clients * Self.perClient
            + lanes * (filesPerLane * Self.perFile + databasesPerLane * Self.perDatabase)
    }
}
