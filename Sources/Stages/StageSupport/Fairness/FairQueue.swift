package import Lifecycle

/// A queue in which the caller with the least *use* comes first: the time that its items have taken lately.
/// The items of a caller keep their order, and only one of them is in work at a time. The queue does no I/O,
/// and its owner passes the time.
package struct FairQueue<Item> {
    /// The time after which use counts half.
    package static var halfLifeMilliseconds: Int { 10_000 }
    /// The most half-lives that are counted. After that nothing countable is left of the use.
    private static var halfLivesMax: Double { 60 }

    /// The limits of a queue.
    package struct Limits: Sendable {
        /// The waiting items of one caller. Beyond it an item is refused.
        package var waitingPerCallerMax: Int
        /// The waiting items of all callers. Beyond it an item is refused.
        package var waitingMax: Int
        /// The callers whose use is remembered. Beyond it those with the least use are forgotten.
        package var callersMax = 1000

        package init(waitingPerCallerMax: Int, waitingMax: Int, callersMax: Int = 1000) {
            self.waitingPerCallerMax = waitingPerCallerMax
            self.waitingMax = waitingMax
            self.callersMax = callersMax
        }
    }

    private struct Caller {
        var waiting: [Item] = []
        var isInWork = false
        /// The use as it counted at `recordedAt`.
        var usedNanoseconds = 0.0
        var recordedAt: Instant

        func use(at now: Instant) -> Double {
            let halfLives =
                Double(now.milliseconds(since: recordedAt)) / Double(FairQueue.halfLifeMilliseconds)
            return usedNanoseconds * decay(halfLives)
        }

        /// Returns a half to the power of the number, as a straight line between whole numbers.
        private func decay(_ halfLives: Double) -> Double {
            let counted = min(FairQueue.halfLivesMax, max(0, halfLives))
            let whole = counted.rounded(.down)
            let rest = counted - whole
            return (1 - rest / 2) / Double(UInt64(1) << UInt64(whole))
        }
    }

    private let limits: Limits
    private var callers: [String: Caller] = [:]
    package private(set) var waitingCount = 0

    package init(limits: Limits) { self.limits = limits }

    /// Adds an item. Returns false if too many items wait.
    package mutating func add(_ item: Item, of name: String, at now: Instant) -> Bool {
        if callers[name] == nil { forgetCallers(at: now) }
        var caller = callers.removeValue(forKey: name) ?? Caller(recordedAt: now)
        let isAccepted =
            waitingCount < limits.waitingMax && caller.waiting.count < limits.waitingPerCallerMax
        if isAccepted {
            caller.waiting.append(item)
            waitingCount += 1
        }
        callers[name] = caller
        return isAccepted
    }

    /// Takes the next item. `finish` must follow. Returns nil if no item may begin.
    package mutating func takeNext(at now: Instant) -> (item: Item, caller: String)? {
        let candidates = callers.filter { !$0.value.isInWork && !$0.value.waiting.isEmpty }
        // Among equals the name decides, so that the order does not depend on the dictionary.
        let next = candidates.min { first, second in
            let (firstUse, secondUse) = (first.value.use(at: now), second.value.use(at: now))
            return firstUse != secondUse ? firstUse < secondUse : first.key < second.key
        }
        guard let name = next?.key, var caller = callers.removeValue(forKey: name) else { return nil }
        let item = caller.waiting.removeFirst()
        waitingCount -= 1
        caller.isInWork = true
        callers[name] = caller
        return (item, name)
    }

    /// Ends the work on the caller's item.
    ///
    /// - Parameter nanoseconds: The time that it took.
    package mutating func finish(_ name: String, nanoseconds: Double, at now: Instant) {
        guard var caller = callers.removeValue(forKey: name) else { return }
        caller.usedNanoseconds = caller.use(at: now) + nanoseconds
        caller.recordedAt = now
        caller.isInWork = false
        callers[name] = caller
    }

    /// Removes and returns all waiting items.
    package mutating func removeAll() -> [Item] {
        let items = callers.values.flatMap(\.waiting)
        (callers, waitingCount) = ([:], 0)
        return items
    }

    /// Forgets half of the callers without items, those with the least use, if there are too many callers.
    private mutating func forgetCallers(at now: Instant) {
        guard callers.count >= limits.callersMax else { return }
        let idle = callers.filter { !$0.value.isInWork && $0.value.waiting.isEmpty }
            .sorted { $0.value.use(at: now) < $1.value.use(at: now) }
        for (name, _) in idle.prefix((idle.count + 1) / 2) { callers[name] = nil }
    }
}
