internal import Foundation
internal import Synchronization

/// The output of a child on one pipe, collected by a thread that ends with the pipe.
final class CollectedOutput: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// Takes ownership of the descriptor.
    init(_ descriptor: Int32) {
        Thread.detachNewThread { [self] in
            var buffer = [UInt8](repeating: 0, count: 64 * 1024)
            while true {
                let count = unsafe read(descriptor, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { break }
                state.withLock { $0.bytes += buffer[..<count] }
            }
            close(descriptor)
            state.withLock { $0.hasEnded = true }
        }
    }

    var text: String { String(decoding: state.withLock { $0.bytes }, as: UTF8.self) }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }
}
