/// Rates of spontaneous events, for each phone and hour.
package struct Habits: Sendable {
    package var leavesPerHour = 0.0
    /// Range of the time that a phone is away.
    package var awayMilliseconds: ClosedRange<Int64> = 5_000...600_000
    package var dismissalsPerHour = 0.0
    package var tokenRotationsPerHour = 0.0
    package var quitsPerHour = 0.0
    package var opensPerHour = 0.0
    package var updatesPerHour = 0.0
    package var uninstallsPerHour = 0.0

    package init() {}
}

extension Phones {
    /// Limit on the time that is caught up after a pause between turns.
    private static let catchUpMilliseconds: Int64 = 10_000

    /// Lets phones act in proportion to the time since the last turn.
    func live(by habits: Habits, at time: Int64) {
        defer { habitsCarriedOn = time }
        guard habitsCarriedOn != .min, time > habitsCarriedOn, !phones.isEmpty else { return }
        let passed = min(time - habitsCarriedOn, Self.catchUpMilliseconds)
        let phoneHours = Double(passed) / 3_600_000 * Double(phones.count)
        happen(habits.leavesPerHour * phoneHours) { number in
            let range = habits.awayMilliseconds
            let share = habitDice.unit()
            goAway(
                number,
                until: time + range.lowerBound + Int64(share * Double(range.upperBound - range.lowerBound)))
        }
        happen(habits.dismissalsPerHour * phoneHours) { number in
            if let index = indices(of: number).first { remove(index, at: time) }
        }
        happen(habits.tokenRotationsPerHour * phoneHours) { number in
            if let index = indices(of: number).first { rotateUpdateToken(index, at: time) }
        }
        happen(habits.quitsPerHour * phoneHours) { quit($0) }
        happen(habits.opensPerHour * phoneHours) { open($0, at: time) }
        happen(habits.updatesPerHour * phoneHours) { update($0, at: time) }
        happen(habits.uninstallsPerHour * phoneHours) { uninstall($0, at: time) }
    }

    /// Runs the whole part of the expected count, and the fraction by chance. So the mean is right even if
    /// turns are short.
    private func happen(_ expected: Double, _ act: (Int) -> Void) {
        guard expected > 0 else { return }
        let whole = Int(expected)
        let count = whole + (habitDice.falls(within: expected - Double(whole)) ? 1 : 0)
        for _ in 0..<min(count, phones.count) { act(Int.random(in: 0..<phones.count, using: &habitDice)) }
    }
}
