internal import Lifecycle

/// Delayed actions, in the order of their times: one heap and one timer for all connections.
///
/// It is confined to the simulator's event loop.
final class DelayedActions: EventHandler {
    private struct DelayedAction {
        let due: Instant
        let number: Int
        let action: () -> Void

        func precedes(_ other: DelayedAction) -> Bool {
            due == other.due ? number < other.number : due < other.due
        }
    }

    private let loop: EventLoop
    private var heap: [DelayedAction] = []
    private var actionsMade = 0
    private var timer: LoopTimer?

    init(on loop: EventLoop) { self.loop = loop }

    func schedule(afterMilliseconds: Int, action: @escaping () -> Void) {
        actionsMade += 1
        if heap.isEmpty { loop.addHandler(self) }
        // Count from now and not from the start of a long turn. Otherwise an action could run too early.
        let due = Instant.now().advanced(byMilliseconds: max(0, afterMilliseconds))
        heap.append(DelayedAction(due: due, number: actionsMade, action: action))
        siftUp(from: heap.count - 1)
        if heap[0].number == actionsMade { scheduleTimer() }
    }

    func removeAll() {
        timer?.cancel()
        heap.removeAll()
        loop.removeHandler(self)
    }

    func didBecomeReady(_ readiness: Readiness) {}

    /// Removes all actions. They hold connections, and connections hold the simulator, so none of these would
    /// ever be freed.
    func loopWillEnd() { removeAll() }

    private func scheduleTimer() {
        let timer = timer ?? LoopTimer(on: loop) { [weak self] in self?.fire() }
        self.timer = timer
        if let first = heap.first { timer.schedule(at: first.due) }
    }

    private func fire() {
        while let first = heap.first, first.due <= loop.now {
            removeFirst()
            first.action()
        }
        if heap.isEmpty { loop.removeHandler(self) }
        scheduleTimer()
    }

    private func removeFirst() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        siftDown()
    }

    private func siftUp(from start: Int) {
        var child = start
        while child > 0, case let parent = (child - 1) / 2, heap[child].precedes(heap[parent]) {
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private func siftDown() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].precedes(heap[least]) { least = child }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
