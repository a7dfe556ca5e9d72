/// A timer of an event loop. It fires once for each call of `schedule`. A second call before it has fired
/// moves it. No call allocates. Only the loop's thread may use it.
///
/// The loop retains a scheduled timer. So its action must hold its owner weakly, or the owner must cancel the
/// timer.
package final class LoopTimer {
    /// The loop exists whenever this is read: a timer is in the heap only until the loop's thread ends, and the thread
    /// retains the loop.
    private unowned let loop: EventLoop
    private let action: () -> Void
    package fileprivate(set) var dueAt = Instant.distantFuture
    /// The index in the heap, or one of the two states outside the heap.
    fileprivate var index = LoopTimer.idle
    /// Not scheduled.
    fileprivate static let idle = -1
    /// Due and removed from the heap, and about to fire unless another timer's action cancels it.
    fileprivate static let takenForFiring = -2

    package init(on loop: EventLoop, action: @escaping () -> Void) {
        self.loop = loop
        self.action = action
    }

    package var isScheduled: Bool { index != LoopTimer.idle }

    package func schedule(at instant: Instant) {
        loop.preconditionOnLoop()
        cancel()
        dueAt = instant
        loop.timers.insert(self)
    }

    package func cancel() {
        if index >= 0 { loop.timers.remove(self) }
        index = LoopTimer.idle
    }

    fileprivate func fire() {
        guard index == LoopTimer.takenForFiring else { return }
        index = LoopTimer.idle
        action()
    }
}

/// The scheduled timers of one loop: a binary heap by due time. Each timer knows its index, so that it can be
/// removed without a search.
struct TimerHeap {
    private var heap: [LoopTimer] = []

    var isEmpty: Bool { heap.isEmpty }
    var earliest: Instant? { heap.first?.dueAt }

    mutating func insert(_ timer: LoopTimer) {
        timer.index = heap.count
        heap.append(timer)
        rise(from: timer.index)
    }

    mutating func remove(_ timer: LoopTimer) {
        let hole = timer.index
        let last = heap.removeLast()
        timer.index = LoopTimer.idle
        guard last !== timer else { return }
        heap[hole] = last
        last.index = hole
        rise(from: hole)
        sink(from: last.index)
    }

    mutating func removeAll() {
        for timer in heap { timer.index = LoopTimer.idle }
        heap.removeAll()
    }

    /// Removes the due timers and returns them. They fire after this call, because an action may schedule and
    /// cancel timers. A timer that an action schedules for now fires in the next iteration.
    mutating func takeDue(at now: Instant) -> [LoopTimer] {
        guard let first = heap.first, first.dueAt <= now else { return [] }
        var dueTimers: [LoopTimer] = []
        while let timer = heap.first, timer.dueAt <= now {
            remove(timer)
            timer.index = LoopTimer.takenForFiring
            dueTimers.append(timer)
        }
        return dueTimers
    }

    static func fire(_ timers: [LoopTimer]) {
        for timer in timers { timer.fire() }
    }

    private mutating func rise(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].dueAt < heap[parent].dueAt else { return }
            exchange(child, parent)
            child = parent
        }
    }

    private mutating func sink(from start: Int) {
        var parent = start
        while true {
            let left = 2 * parent + 1
            let right = left + 1
            var earliest = parent
            if left < heap.count, heap[left].dueAt < heap[earliest].dueAt { earliest = left }
            if right < heap.count, heap[right].dueAt < heap[earliest].dueAt { earliest = right }
            guard earliest != parent else { return }
            exchange(parent, earliest)
            parent = earliest
        }
    }

    private mutating func exchange(_ a: Int, _ b: Int) {
        heap.swapAt(a, b)
        heap[a].index = a
        heap[b].index = b
    }
}
