/// Why the store of topics does not open or does not do what a client asked.
package enum TopicStoreError: Error, Equatable, CustomStringConvertible {
    case locked(path: String)
    case damagedCatalog(path: String)
    case exists(String)
    case unknown(String)
    case badName(String)
    case badPartitionCount(Int32)
    case badSetting(TopicSettingError)
    case log(LogError)
    case disk(DiskError)

    package var code: ErrorCode {
        switch self {
        case .locked, .damagedCatalog, .log, .disk: .kafkaStorageError
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
            "catalogue \(path) is damaged; restore it from a copy, or remove the data directory to begin anew"
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
}
