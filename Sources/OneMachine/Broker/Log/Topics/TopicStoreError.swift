/// The reason why the store of topics does not open, or refuses a request.
package enum TopicStoreError: Error, Equatable, CustomStringConvertible {
    case locked(path: String)
    /// Neither copy of the catalog is sound.
    case damagedCatalog(path: String)
    /// There are logs, and no catalog that says to which topics they belong.
    case missingCatalog(path: String)
    /// The read of a catalog failed. The file may be sound, so no other copy is used in its place. `second` is
    /// the path of the second copy.
    case unreadableCatalog(DiskError, second: String)
    /// The two copies belong to two brokers.
    case mixedCatalogs(String, String)
    /// Directories with records that the catalog does not mention.
    case unknownLogs([String])
    /// Directories that the catalog names and that do not exist.
    case missingLogs([String])
    case exists(String)
    case unknown(String)
    case badName(String)
    case badPartitionCount(Int32)
    case badSetting(TopicSettingError)
    case log(LogError)
    case disk(DiskError)

    package var code: ErrorCode {
        switch self {
        case .locked, .damagedCatalog, .missingCatalog, .unreadableCatalog, .mixedCatalogs, .unknownLogs,
            .missingLogs, .log, .disk:
            .kafkaStorageError
        case .exists: .topicAlreadyExists
        case .unknown: .unknownTopicOrPartition
        case .badName: .invalidTopic
        case .badPartitionCount: .invalidPartitions
        case .badSetting: .invalidConfig
        }
    }

    package var description: String {
        switch self {
        case .locked(let path):
            "data directory \(path) is in use by another process; stop it or choose another directory"
        case .damagedCatalog(let path):
            "catalog \(path) is damaged; \(Self.catalogRemedy)"
        case .missingCatalog(let path):
            "catalog \(path) is missing but there are logs; \(Self.catalogRemedy)"
        case .unreadableCatalog(let error, let second):
            """
            \(error.description); if it stays unreadable, move it away: the broker then uses the other copy \
            (first copy: catalog, second copy: \(second))
            """
        case .mixedCatalogs(let first, let second):
            "catalogs \(first) and \(second) belong to two brokers; move the wrong one away"
        case .unknownLogs(let paths):
            """
            directory \(Self.summary(of: paths)) has records but the catalog does not name it: the catalog is older than \
            the records; restore the newer catalog, or set the records aside with `flotilla repair`
            """
        case .missingLogs(let paths):
            """
            directory \(Self.summary(of: paths)) is missing but the catalog names it; restore it, or begin its partition \
            empty with `flotilla repair`
            """
        case .exists(let name): "topic \(name) exists already"
        case .unknown(let name): "topic \(name) does not exist"
        case .badName(let name):
            "topic name \(name) is not allowed; use up to 249 of a-z, A-Z, 0-9, dot, hyphen and underscore"
        case .badPartitionCount(let count):
            "partition count is \(count); give 1 to \(TopicStore.partitionsMax)"
        case .badSetting(let error): error.description
        case .log(let error): error.description
        case .disk(let error): error.description
        }
    }

    private static let catalogRemedy =
        "restore it from a backup, or make it from the logs with `flotilla repair`"

    /// Returns the first path and the number of the others.
    private static func summary(of paths: [String]) -> String {
        let first = paths.first ?? ""
        return paths.count > 1 ? "\(first) (and \(paths.count - 1) more)" : first
    }
}
