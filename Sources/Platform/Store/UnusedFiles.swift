internal import Synchronization

/// The environments of this process, each of which is closed while nothing uses it. A closed file needs no
/// descriptors.
package final class UnusedFiles: Sendable {
    package static let shared = UnusedFiles()
    /// The interval at which a timer calls `closeUnused`. A file is closed after one or two intervals without
    /// use.
    package static let intervalMilliseconds = 5_000

    private struct File {
        weak var environment: LMDBEnvironment?
    }

    private let files = Mutex<[File]>([])

    func add(_ environment: LMDBEnvironment) {
        files.withLock { files in
            files.removeAll { $0.environment == nil }
            files.append(File(environment: environment))
        }
    }

    /// Closes the files that were not used since the last call.
    package func closeUnused() {
        let environments = files.withLock { $0.compactMap(\.environment) }
        for environment in environments { environment.closeIfUnused() }
    }
}
