internal import Foundation
internal import Synchronization

/// The bytes that a child has written to one pipe so far. A thread reads the pipe until its end.
final class CollectedOutput: Sendable {
    private struct Content {
        var bytes: [UInt8] = []
        var hasEnded = false
    }

    private let content = Mutex(Content())

    /// Takes ownership of the descriptor.
    init(descriptor: Int32) {
        Thread.detachNewThread { [self] in
            var buffer = [UInt8](repeating: 0, count: 64 * 1024)
            while true {
                let count = unsafe read(descriptor, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { break }
                content.withLock { $0.bytes += buffer[..<count] }
            }
            close(descriptor)
            content.withLock { $0.hasEnded = true }
        }
    }

    var text: String { String(decoding: content.withLock { $0.bytes }, as: UTF8.self) }
    var hasEnded: Bool { content.withLock { $0.hasEnded } }
}
