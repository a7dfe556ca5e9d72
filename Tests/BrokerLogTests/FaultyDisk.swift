import Glibc
import Simulation
import Synchronization

@testable import Broker

/// A disk that numbers its operations, and that fails or dies at chosen ones. It works on real files. It remembers
/// which bytes and names were synced, so that `losePower` can remove the rest as a power failure does.
///
/// The disk outlives the simulated process. After `die`, every operation fails until `revive` gives the disk to the
/// next process. Bytes that a dead process has not synced can be lost until the next process syncs them.
final class FaultyDisk: Sendable {
    struct State {
        /// The number of operations until now.
        var stepCount = 0
        /// The number of the operation at which the process dies.
        var dieAt: Int?
        /// The number of the operation that fails once.
        var failAt: Int?
        var isDead = false
        /// Whether every operation that needs space fails.
        var isFull = false
        /// Fails the next operation of a kind once.
        var failNext: (operation: Disk.Operation, fault: Disk.Fault)?
        /// The length of each file at its last sync.
        var syncedLengths: [String: Int] = [:]
        /// Files whose directory was not synced after their creation. Their names can be lost.
        var created: Set<String> = []
        /// Files that were created or written since the last power failure.
        var written: Set<String> = []
        var random: SeededGenerator
    }

    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(random: SeededGenerator(seed: seed))) }

    var disk: Disk {
        Disk { [self] operation, path, bytes in
            state.withLock { Self.fault(of: operation, path: path, bytes: bytes, state: &$0) }
        }
    }

    var isDead: Bool { state.withLock { $0.isDead } }
    /// The number of operations until now.
    var stepCount: Int { state.withLock { $0.stepCount } }

    /// Lets the process die at an operation, counted from now. A write may then store a part of its bytes.
    func die(after steps: Int) { state.withLock { $0.dieAt = $0.stepCount + steps } }

    /// Fails one operation, counted from now. The disk works again after it.
    func fail(after steps: Int) { state.withLock { $0.failAt = $0.stepCount + steps } }

    /// Fails the next operation of this kind.
    func failNext(_ operation: Disk.Operation, with fault: Disk.Fault) {
        state.withLock { $0.failNext = (operation, fault) }
    }

    /// Gives the disk to the next process. It works again without planned failures, and still knows which bytes were
    /// never synced.
    func revive() {
        state.withLock { state in
            state.isDead = false
            state.dieAt = nil
            state.failAt = nil
            state.failNext = nil
        }
    }

    /// While the disk is full, every operation that needs space fails.
    func setFull(_ isFull: Bool) { state.withLock { $0.isFull = isFull } }

    /// Forgets a `failNext` whose operation did not come.
    func clearFailure() { state.withLock { $0.failNext = nil } }

    /// Returns the fault of an operation, or nil if it succeeds.
    private static func fault(
        of operation: Disk.Operation, path: String, bytes: Int, state: inout State
    ) -> Disk.Fault? {
        if state.isDead { return .fail(EIO) }
        state.stepCount += 1
        if state.dieAt == state.stepCount {
            state.isDead = true
            if operation == .write {
                note(operation, path: path, state: &state)
                return .tear(bytes: Int(state.random.next(upperBound: UInt64(bytes + 1))), errno: EIO)
            }
            return .fail(EIO)
        }
        if state.isFull, [.create, .write, .rename, .makeDirectory].contains(operation) {
            return .fail(ENOSPC)
        }
        if state.failAt == state.stepCount { return .fail(ENOSPC) }
        if let next = state.failNext, next.operation == operation {
            state.failNext = nil
            return next.fault
        }
        note(operation, path: path, state: &state)
        return nil
    }

    /// Notes which bytes and names are synced after an operation that succeeds.
    private static func note(_ operation: Disk.Operation, path: String, state: inout State) {
        switch operation {
        case .create:
            state.created.insert(path)
            state.written.insert(path)
            if access(path, F_OK) != 0 { state.syncedLengths[path] = 0 }
        case .write:
            state.written.insert(path)
            // Bytes from before the last power failure are on the disk.
            if state.syncedLengths[path] == nil { state.syncedLengths[path] = fileSize(at: path) }
        case .sync: state.syncedLengths[path] = fileSize(at: path)
        case .truncate: state.syncedLengths[path] = min(state.syncedLengths[path] ?? .max, fileSize(at: path))
        case .syncDirectory:
            state.created = state.created.filter { !$0.hasPrefix(path + "/") }
        case .rename:
            // `path` is the new name. The file that had it before does not count any more.
            state.syncedLengths[path] = nil
        default: break
        }
    }

    private static func fileSize(at path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Leaves the files as a power failure does. Each file keeps its synced part, and perhaps a part of the rest, or
    /// zeros in its place. A new name may be lost.
    func losePower() {
        state.withLock { state in
            for path in state.written.sorted() where access(path, F_OK) == 0 {
                let losesName = state.created.contains(path) && state.random.next(upperBound: UInt64(2)) == 0
                if losesName {
                    unlink(path)
                } else {
                    Self.loseUnsyncedBytes(of: path, state: &state)
                }
            }
            // All bytes that the machine finds after its start are on the disk.
            state.written = []
            state.created = []
            state.syncedLengths = [:]
        }
    }

    private static func loseUnsyncedBytes(of path: String, state: inout State) {
        guard let synced = state.syncedLengths[path] else { return }
        let size = fileSize(at: path)
        guard size > synced else { return }
        let keptLength = synced + Int(state.random.next(upperBound: UInt64(size - synced + 1)))
        let leavesZeros = state.random.next(upperBound: UInt64(3)) == 0
        guard leavesZeros else {
            truncate(path, keptLength)
            return
        }
        let descriptor = open(path, O_WRONLY)
        let zeros = [UInt8](repeating: 0, count: size - keptLength)
        pwrite(descriptor, zeros, zeros.count, keptLength)
        close(descriptor)
    }
}
