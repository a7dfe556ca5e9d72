/// The number of file descriptors that a stage opens, apart from its connections to clients and to APNs.
package struct StageDescriptors: Sendable {
    /// A Kafka client has a wakeup, and for each broker of a small cluster a socket and a pipe. The embedded broker has
    /// the other end of each socket.
    private static let eachClient = 16
    /// LMDB has the file open twice, and has a lock file.
    private static let eachFile = 3
    /// SQLite has the file, its log and the shared memory of the log.
    private static let eachDatabase = 3

    private let clients: Int
    private let filesOfLane: Int
    private let databasesOfLane: Int

    /// - Parameters:
    ///   - filesOfLane: LMDB files of each lane that the stage owns.
    ///   - databasesOfLane: SQLite files of each lane that the stage owns.
    package init(clients: Int, filesOfLane: Int = 0, databasesOfLane: Int = 0) {
        self.clients = clients
        self.filesOfLane = filesOfLane
        self.databasesOfLane = databasesOfLane
    }

    /// Returns the number for a process that owns all lanes, as the last process of a stage does.
    package func needed(lanes: Int) -> Int {
        clients * Self.eachClient
            + lanes * (filesOfLane * Self.eachFile + databasesOfLane * Self.eachDatabase)
    }
}
