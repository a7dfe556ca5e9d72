internal import Containers
internal import Lifecycle

/// Closures that run after a delay: late answers, the ends of stalls, and the simulator's ticks. All
/// connections share one heap and one timer.
///
/// It is confined to the simulator's event loop.
final class DelayedActions: EventHandler {
    private struct DelayedAction: Comparable {
        let dueAt: Instant
        /// Number in the order of scheduling. Actions that are due at the same time run in this order.
        let number: Int
        let action: () -> Void

        static func == (left: DelayedAction, right: DelayedAction) -> Bool { left.number == right.number }

        static func < (left: DelayedAction, right: DelayedAction) -> Bool {
            left.dueAt == right.dueAt ? left.number < right.number : left.dueAt < right.dueAt
        }
    }

    private let loop: EventLoop
    /// The waiting actions. The one that is due first is at the top.
    private var heap = MinHeap<DelayedAction>()
    private var scheduledCount = 0
    /// The timer of the action that is due first.
    private var timer: LoopTimer?

    init(on loop: EventLoop) { self.loop = loop }

    /// Runs the action after the delay, unless the loop ends before.
    func schedule(afterMilliseconds: Int, action: @escaping () -> Void) {
        scheduledCount += 1
        // The loop tells its handlers when it ends (`loopWillEnd`).
        if heap.isEmpty { loop.addHandler(self) }
        // Count from now. `loop.now` is the start of the iteration, so after a long iteration the action would
        // run too early.
        let dueAt = Instant.now().advanced(byMilliseconds: max(0, afterMilliseconds))
        heap.push(DelayedAction(dueAt: dueAt, number: scheduledCount, action: action))
        let isFirst = heap.first?.number == scheduledCount
        if isFirst { scheduleTimer() }
    }

    /// Drops all waiting actions.
    func removeAll() {
        timer?.cancel()
        heap = MinHeap()
        loop.removeHandler(self)
    }

    // MARK: Calls from the loop

    func didBecomeReady(_ readiness: Readiness) {}

    /// Removes all actions. They hold connections, and connections hold the simulator, so without this the
    /// memory would never be freed.
    func loopWillEnd() { removeAll() }

    // MARK: Timer

    private func scheduleTimer() {
        let timer = timer ?? LoopTimer(on: loop) { [weak self] in self?.fire() }
        self.timer = timer
        if let first = heap.first { timer.schedule(at: first.dueAt) }
    }

    private func fire() {
        while let next = heap.pop(where: { $0.dueAt <= loop.now }) { next.action() }
        if heap.isEmpty { loop.removeHandler(self) }
        scheduleTimer()
    }
}
