internal import Broker
internal import Cryptography
internal import Glibc
internal import Kafka
internal import Lifecycle
internal import Store
internal import Topics

extension ExitStatus {
    /// Makes the exit status from an error. The status tells a supervisor whether a restart can help. The first
    /// case that matches counts, so specific cases come before the rest of their type.
    init(of error: any Error) {
        self =
            switch error {
            case let error as any FatalError: error.exitStatus
            case let error as SystemError: Self.status(ofCode: error.code)
            case let error as DiskError: Self.status(ofCode: error.code)
            case SlotError.systemCallFailed(_, _, let code): Self.status(ofCode: code)
            // Another process uses the directory.
            case is SlotError, TopicStoreError.locked, StoreError.inUse: .temporary
            case TopicStoreError.disk(let error): Self.status(ofCode: error.code)
            case TopicStoreError.damagedCatalog, TopicStoreError.missingCatalog,
                TopicStoreError.mixedCatalogs, TopicStoreError.unknownLogs, TopicStoreError.missingLogs:
                .dataError
            case TopicStoreError.unreadableCatalog(let error, _): Self.status(ofCode: error.code)
            case is BrokerError, is ConfigurationError, is MismatchedTopics, is TopicNotCreated:
                .configuration
            case is PEMError: .dataError
            case is KafkaError, is TransactionFailure: .unavailable
            default: .software
            }
    }

    /// Returns the status for an `errno` of the system.
    private static func status(ofCode code: Int32) -> ExitStatus {
        switch code {
        case EADDRINUSE, EADDRNOTAVAIL, ECONNREFUSED: .unavailable
        case EACCES, EPERM, EROFS: .noPermission
        // The directory of the file does not exist.
        case ENOENT, ENOTDIR: .cannotCreate
        case ENOSPC, EDQUOT, EIO: .ioError
        default: .systemError
        }
    }
}
