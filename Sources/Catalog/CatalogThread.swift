internal import Kafka
internal import Lifecycle

/// The thread of a `CatalogReader`.
///
/// `@unchecked Sendable`: all but the loop is touched on the loop only.
final class CatalogThread: EventHandler, @unchecked Sendable {
    /// A consumer wants to be polled now and then, whether records come or not.
    private static let pollMilliseconds = 1000
    /// How long one question to a cluster that may be away holds up this thread, and so its end.
    private static let askMilliseconds = 500
    /// The pause before it is asked again.
    private static let pauseMilliseconds = 50

    private let loop: EventLoop
    private let make: @Sendable () throws -> CatalogFollower
    private let publish: @Sendable (CatalogView) -> Void
    private let fail: @Sendable (any Error) -> Void
    private var follower: CatalogFollower?
    private var timer: LoopTimer?

    init(
        make: @escaping @Sendable () throws -> CatalogFollower,
        publish: @escaping @Sendable (CatalogView) -> Void, fail: @escaping @Sendable (any Error) -> Void
    ) throws {
        loop = try EventLoop(name: "catalog")
        self.make = make
        self.publish = publish
        self.fail = fail
        try loop.start { try self.begin() }
    }

    func stop() { loop.stop() }

    private func begin() throws {
        try follow()
        timer = LoopTimer(on: loop) { [unowned self] in ready(.readable) }
        timer?.schedule(at: loop.now)
    }

    private func follow() throws {
        let follower = try make()
        try loop.register(follower.descriptor, for: .readable, self)
        self.follower = follower
    }

    func ready(_ readiness: Readiness) {
        guard let follower else { return }
        var pause = Self.pauseMilliseconds
        defer { timer?.schedule(at: Instant.now().advanced(byMilliseconds: pause)) }
        do {
            let wasAtEnd = follower.isAtEnd
            let hasBegun = follower.begins(withinMilliseconds: Self.askMilliseconds)
            let isChanged = try follower.poll()
            if follower.isAtEnd, isChanged || !wasAtEnd { publish(follower.view) }
            if hasBegun { pause = Self.pollMilliseconds }
        } catch {
            again()
        }
    }

    /// The old view stands until the new consumer has come to the end.
    private func again() {
        drop()
        do { try follow() } catch { fail(error) }
    }

    private func drop() {
        if let follower { loop.deregister(follower.descriptor) }
        follower = nil
    }

    func loopEnds() {
        timer?.cancel()
        timer = nil
        drop()
    }
}
