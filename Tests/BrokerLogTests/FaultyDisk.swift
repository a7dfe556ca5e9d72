import Glibc
import Simulation
import Synchronization

@testable import Broker

/// A disk that numbers its operations and fails or dies at chosen ones. It remembers the synced bytes, so
/// that a test can remove the rest as a power failure would. It outlives the process: bytes that a dead
/// process has not synced stay in danger until the next one syncs them.
final class FaultyDisk: Sendable {
    struct State {
        var steps = 0
        var dieAt: Int?
        var failAt: Int?
        var isDead = false
        /// Whether every operation that needs space fails.
        var isFull = false
        /// Fails the next operation of a kind once.
        var failNext: (operation: Disk.Operation, fault: Disk.Fault)?
        /// Bytes of each file that a sync covered.
        var synced: [String: Int] = [:]
        /// Files whose names no directory sync covered.
        var created: Set<String> = []
        var written: Set<String> = []
        var random: SeededGenerator
    }

    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(random: SeededGenerator(seed: seed))) }

    var disk: Disk {
        Disk { [self] operation, path, bytes in state.withLock { Self.step(&$0, operation, path, bytes) } }
    }

    var steps: Int { state.withLock { $0.steps } }
    var isDead: Bool { state.withLock { $0.isDead } }

    func die(after steps: Int) { state.withLock { $0.dieAt = $0.steps + steps } }

    /// Fails one operation after this many steps. The disk works again after it.
    func fail(after steps: Int) { state.withLock { $0.failAt = $0.steps + steps } }

    func failNext(_ operation: Disk.Operation, _ fault: Disk.Fault) {
        state.withLock { $0.failNext = (operation, fault) }
    }

    /// Gives the disk to another process. It works again, and remembers the bytes that were never synced.
    func revive() {
        state.withLock { state in
            (state.isDead, state.dieAt, state.failAt, state.failNext) = (false, nil, nil, nil)
        }
    }

    func fill(_ isFull: Bool) { state.withLock { $0.isFull = isFull } }

    func clearFailure() { state.withLock { $0.failNext = nil } }

    private static func step(
        _ state: inout State, _ operation: Disk.Operation, _ path: String, _ bytes: Int
    ) -> Disk.Fault? {
        if state.isDead { return .fail(EIO) }
        state.steps += 1
        if state.dieAt == state.steps {
            state.isDead = true
            if operation == .write {
                note(&state, operation, path)
                return .tear(bytes: Int(state.random.next(upperBound: UInt64(bytes + 1))), errno: EIO)
            }
            return .fail(EIO)
        }
        if state.isFull, [.create, .write, .rename, .makeDirectory].contains(operation) {
            return .fail(ENOSPC)
        }
        if state.failAt == state.steps { return .fail(ENOSPC) }
        if let next = state.failNext, next.operation == operation {
            state.failNext = nil
            return next.fault
        }
        note(&state, operation, path)
        return nil
    }

    private static func note(_ state: inout State, _ operation: Disk.Operation, _ path: String) {
        switch operation {
        case .create:
            state.created.insert(path)
            state.written.insert(path)
            if access(path, F_OK) != 0 { state.synced[path] = 0 }
        case .write:
            state.written.insert(path)
            // Bytes from before the last power failure are on the disk.
            if state.synced[path] == nil { state.synced[path] = fileSize(path) }
        case .sync: state.synced[path] = fileSize(path)
        case .truncate: state.synced[path] = min(state.synced[path] ?? .max, fileSize(path))
        case .syncDirectory:
            state.created = state.created.filter { !$0.hasPrefix(path + "/") }
        case .rename:
            // The new name is only known here; what it held before does not matter any more.
            state.synced[path] = nil
        default: break
        }
    }

    private static func fileSize(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Leaves the state after a power failure: of each file the synced part, and some or all of the rest,
    /// or zeros in its place.
    func losePower() {
        state.withLock { state in
            for path in state.written.sorted() where access(path, F_OK) == 0 {
                if state.created.contains(path), state.random.next(upperBound: UInt64(2)) == 0 {
                    unlink(path)
                    continue
                }
                guard let synced = state.synced[path] else { continue }
                let size = Self.fileSize(path)
                guard size > synced else { continue }
                let keep = synced + Int(state.random.next(upperBound: UInt64(size - synced + 1)))
                if state.random.next(upperBound: UInt64(3)) == 0 {
                    let descriptor = open(path, O_WRONLY)
                    let zeros = [UInt8](repeating: 0, count: size - keep)
                    pwrite(descriptor, zeros, zeros.count, keep)
                    close(descriptor)
                } else {
                    truncate(path, keep)
                }
            }
            // All bytes that the machine finds after its start are on the disk.
            state.written = []
            state.created = []
            state.synced = [:]
        }
    }
}
