internal import Lifecycle
internal import Store
internal import Telemetry

/// The `FreshnessHistory` of a process, which queries share. Each change is also written to a file, if one is open.
final class FreshnessLog: Sendable {
    private struct State {
        var history = FreshnessHistory()
        var file: FreshnessFile?
        /// The reason why the last write failed, so that each reason is logged once.
        var failure: String?
    }

    private let state = TracedLock(State())
    private let log: Log

    init(log: Log = .silent) { self.log = log }

    /// Continues the history of a file. If the file cannot be opened, the history is kept in memory only.
    func open(_ openFile: () throws(StoreError) -> FreshnessFile) {
        write { state throws(StoreError) in
            let file = try openFile()
            state.history = try file.history()
            state.file = file
        }
    }

    func add(_ sample: FreshnessHistory.Sample, of app: String, groupsBehind: Set<String>) {
        write { state throws(StoreError) in
            guard let change = state.history.add(sample, of: app, groupsBehind: groupsBehind) else { return }
            try state.file?.add(sample, of: app, behind: change)
        }
    }

    func keep(onlyApps ids: Set<String>) {
        write { state throws(StoreError) in
            for app in state.history.keep(onlyApps: ids) { try state.file?.remove(app: app) }
        }
    }

    /// Returns a copy for one answer.
    var current: FreshnessHistory { state.withLock { $0.history } }

    /// Closes the file. Later samples are kept in memory only.
    func close() {
        write { state throws(StoreError) in
            let file = state.file
            state.file = nil
            try file?.close()
        }
    }

    /// Changes the state. A failure of the file is logged, and the history in memory goes on.
    private func write(_ change: (inout State) throws(StoreError) -> Void) {
        let failure: String? = state.withLock { state in
            do throws(StoreError) {
                try change(&state)
                state.failure = nil
                return nil
            } catch {
                let isKnown = state.failure == "\(error)"
                state.failure = "\(error)"
                return isKnown ? nil : "\(error)"
            }
        }
        guard let failure else { return }
        log.warning(
            "the freshness of phones is not stored now; after a restart its chart has a gap",
            .field("error", failure))
    }
}
