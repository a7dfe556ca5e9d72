internal import LiveActivity

/// What updates to whole groups make of lanes that have nobody of them. A small group has nobody in nearly all lanes, and
/// most of these have the same row of it: what one of them makes of it, the others make, too, in its transaction or a
/// later one. Of one thread, whose lanes share it.
///
/// What an update makes of such a lane depends on nothing but itself and the lane's row of the group, but for the time
/// that the new row has, which only says when it may be forgotten.
package final class EmptyLanes {
    struct Made {
        let expansion: Expansion
        let key: [UInt8]
        private let before: LaneScope?
        let after: EncodedScope

        /// - Parameter before: the lane's row of the group as it was.
        init(_ expansion: Expansion, key: [UInt8], from before: LaneScope?, to after: LaneScope) {
            self.expansion = expansion
            self.key = key
            self.before = before?.withoutTime
            self.after = EncodedScope(after)
        }

        func isMade(from scope: LaneScope?) -> Bool { scope?.withoutTime == before }
    }

    /// Beyond it the older half is forgotten.
    private static let countMax = 4096
    /// How far a row's time may be from when it is written: next to nothing of the two days that rows are kept for.
    private static let millisecondsMax: Int64 = 10_000

    private var all: [Made] = []
    private var numbers: [String: Int] = [:]
    /// Updates mostly come to all lanes in one order: which of them is probably asked for next.
    private var next = 0

    package init() {}

    /// Whether there can be such lanes for an expansion.
    static func takes(_ expansion: Expansion) -> Bool {
        guard expansion.content.event == .update, case .group = expansion.targets else { return false }
        return expansion.cursor == nil && !expansion.dryRun && expansion.key.group != nil
    }

    func made(of expansion: Expansion, at now: Int64) -> Made? {
        guard let number = number(of: expansion) else { return nil }
        next = number + 1
        let age = now - all[number].after.scope.at
        return 0..<Self.millisecondsMax ~= age ? all[number] : nil
    }

    private func number(of expansion: Expansion) -> Int? {
        if next < all.count, isMade(next, of: expansion) { return next }
        guard let number = numbers[expansion.send], isMade(number, of: expansion) else { return nil }
        return number
    }

    /// In place of what is known of the update: lanes that come to it later are more like this one.
    func add(_ made: Made) {
        if let number = number(of: made.expansion) {
            all[number] = made
            next = number + 1
            return
        }
        if all.count >= Self.countMax { forgetHalf() }
        numbers[made.expansion.send] = all.count
        all.append(made)
        next = all.count
    }

    private func isMade(_ number: Int, of expansion: Expansion) -> Bool {
        let other = all[number].expansion
        return other.version == expansion.version && other.send.isExactly(expansion.send)
            && other == expansion
    }

    private func forgetHalf() {
        all.removeFirst(all.count / 2)
        numbers.removeAll(keepingCapacity: true)
        for (number, made) in all.enumerated() { numbers[made.expansion.send] = number }
    }
}

extension LaneScope {
    /// When a row was written, nothing that is made of it says.
    fileprivate var withoutTime: LaneScope {
        var scope = self
        scope.at = 0
        return scope
    }
}
