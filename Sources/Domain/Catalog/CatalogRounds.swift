internal import Kafka
internal import Lifecycle

/// The work of a `CatalogReader`'s thread. Confined to its loop.
final class CatalogRounds: EventHandler {
    /// The interval between polls. A consumer must be polled even if no records arrive.
    private static let pollMilliseconds = 1000
    /// The limit for one question to a cluster that may be unavailable. For this time the thread is blocked,
    /// also its shutdown.
    private static let askMilliseconds = 500
    /// The pause before the next question.
    private static let pauseMilliseconds = 50

    private let loop: EventLoop
    private let make: () throws -> CatalogFollower
    private let publish: (KnownCatalog) -> Void
    private let fail: (any Error) -> Void
    private var follower: CatalogFollower?
    private var timer: LoopTimer?
    private var waiting: [Waiting] = []

    /// A caller that waits until the topic has been read to the end that it had at the time of the call.
    private struct Waiting {
        /// The end to reach, or nil until the cluster has answered.
        var end: Int64?
        let until: Instant
        let then: () -> Void
    }

    init(
        on loop: EventLoop, make: @escaping () throws -> CatalogFollower,
        publish: @escaping (KnownCatalog) -> Void, fail: @escaping (any Error) -> Void
    ) throws {
        self.loop = loop
        self.make = make
        self.publish = publish
        self.fail = fail
        try follow()
        timer = LoopTimer(on: loop) { [unowned self] in ready(.readable) }
        timer?.schedule(at: loop.now)
    }

    /// Registers a caller. All callers of one iteration share one question to the cluster.
    func readOn(until: Instant, then: @escaping () -> Void) {
        waiting.append(Waiting(end: nil, until: until, then: then))
        timer?.schedule(at: loop.now)
    }

    private func answerWaiting(_ follower: CatalogFollower) {
        if waiting.isEmpty { return }
        if waiting.contains(where: { $0.end == nil }),
            let end = try? follower.presentEnd(withinMilliseconds: Self.askMilliseconds)
        {
            for index in waiting.indices where waiting[index].end == nil { waiting[index].end = end }
        }
        let now = Instant.now()
        let isDone = { (one: Waiting) in
            one.until <= now || (follower.isAtEnd && one.end.map { follower.next >= $0 } ?? false)
        }
        let done = waiting.filter(isDone)
        waiting.removeAll(where: isDone)
        for one in done { one.then() }
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
            if follower.isAtEnd, isChanged || !wasAtEnd { publish(follower.catalog) }
            if hasBegun {
                answerWaiting(follower)
                if waiting.isEmpty { pause = Self.pollMilliseconds }
            }
        } catch {
            again()
        }
    }

    /// Makes a new consumer. The old catalog stays valid until the new consumer has reached the end.
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
        for one in waiting { one.then() }
        waiting = []
        drop()
    }
}
