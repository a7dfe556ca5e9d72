internal import Kafka
internal import Lifecycle

/// The work of a `CatalogReader`'s thread: it polls a `CatalogFollower`, publishes each new snapshot, and answers
/// callers that wait for the topic's current end. If the follower fails, it makes a new one. Confined to its loop.
final class CatalogLoop: EventHandler {
    /// The interval between polls. A reader must be polled even if no records arrive.
    private static let pollMilliseconds = 1000
    /// The limit for one question to a cluster that may be unavailable. For this time the thread is blocked,
    /// also its shutdown.
    private static let requestMilliseconds = 500
    /// The pause while the reading has not begun, or a caller waits.
    private static let pauseMilliseconds = 50

    private let loop: EventLoop
    private let makeFollower: () throws -> CatalogFollower
    private let publish: (CatalogSnapshot) -> Void
    private let fail: (any Error) -> Void
    private var follower: CatalogFollower?
    private var timer: LoopTimer?
    private var pendingReads: [PendingRead] = []

    /// A caller that waits until the topic is read to the end that it had when the caller asked.
    private struct PendingRead {
        /// The end to reach, or nil until the cluster has answered.
        var end: Int64?
        let deadline: Instant
        let completion: () -> Void
    }

    init(
        on loop: EventLoop, makeFollower: @escaping () throws -> CatalogFollower,
        publish: @escaping (CatalogSnapshot) -> Void, fail: @escaping (any Error) -> Void
    ) throws {
        self.loop = loop
        self.makeFollower = makeFollower
        self.publish = publish
        self.fail = fail
        try startFollowing()
        timer = LoopTimer(on: loop) { [unowned self] in didBecomeReady(.readable) }
        timer?.schedule(at: loop.now)
    }

    /// Calls `then` when the topic is read to its current end, or at the deadline. All callers of one iteration
    /// share one question to the cluster.
    func readToCurrentEnd(until deadline: Instant, then: @escaping () -> Void) {
        pendingReads.append(PendingRead(end: nil, deadline: deadline, completion: then))
        timer?.schedule(at: loop.now)
    }

    /// Completes the reads that have reached their end or their deadline. Asks for the end of new reads first. If
    /// the cluster does not answer, the next iteration asks again.
    private func completePendingReads(with follower: CatalogFollower) {
        if pendingReads.isEmpty { return }
        let hasNewReads = pendingReads.contains { $0.end == nil }
        if hasNewReads, let end = try? follower.currentEnd(withinMilliseconds: Self.requestMilliseconds) {
            for index in pendingReads.indices where pendingReads[index].end == nil {
                pendingReads[index].end = end
            }
        }
        let now = Instant.now()
        let isDone = { (read: PendingRead) in
            let hasReachedEnd = read.end.map { follower.nextOffset >= $0 } ?? false
            return read.deadline <= now || (follower.isAtEnd && hasReachedEnd)
        }
        let doneReads = pendingReads.filter(isDone)
        pendingReads.removeAll(where: isDone)
        for read in doneReads { read.completion() }
    }

    /// Makes a follower and registers it with the loop.
    private func startFollowing() throws {
        let follower = try makeFollower()
        try loop.register(follower.descriptor, for: .readable, handler: self)
        self.follower = follower
    }

    /// One iteration: reads the available records, and publishes the snapshot if it has changed. The timer calls it
    /// too.
    func didBecomeReady(_ readiness: Readiness) {
        guard let follower else { return }
        var pause = Self.pauseMilliseconds
        do {
            let wasAtEnd = follower.isAtEnd
            let hasBegun = follower.tryToBegin(withinMilliseconds: Self.requestMilliseconds)
            let isChanged = try follower.poll()
            if follower.isAtEnd, isChanged || !wasAtEnd { publish(follower.catalog) }
            if hasBegun {
                completePendingReads(with: follower)
                if pendingReads.isEmpty { pause = Self.pollMilliseconds }
            }
        } catch {
            restartFollower()
        }
        timer?.schedule(at: Instant.now().advanced(byMilliseconds: pause))
    }

    /// Makes a new follower. The old catalog stays valid until the new one has reached the end.
    private func restartFollower() {
        stopFollowing()
        do { try startFollowing() } catch { fail(error) }
    }

    private func stopFollowing() {
        if let follower { loop.deregister(follower.descriptor) }
        follower = nil
    }

    func loopWillEnd() {
        timer?.cancel()
        timer = nil
        for read in pendingReads { read.completion() }
        pendingReads = []
        stopFollowing()
    }
}
