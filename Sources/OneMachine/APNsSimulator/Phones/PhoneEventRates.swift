/// Rates of spontaneous events, for each phone and hour.
package struct PhoneEventRates: Sendable {
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
    func simulateEvents(at habits: PhoneEventRates, time: Int64) {
        defer { eventsSimulatedUntil = time }
        guard eventsSimulatedUntil != .min, time > eventsSimulatedUntil, !phones.isEmpty else { return }
        let passed = min(time - eventsSimulatedUntil, Self.catchUpMilliseconds)
        let phoneHours = Double(passed) / 3_600_000 * Double(phones.count)
        performAtRandom(expectedCount: habits.leavesPerHour * phoneHours) { number in
            let range = habits.awayMilliseconds
            let share = eventRandom.fraction()
            takeOffline(
                phone: number,
                until: time + range.lowerBound + Int64(share * Double(range.upperBound - range.lowerBound)))
        }
        performAtRandom(expectedCount: habits.dismissalsPerHour * phoneHours) { number in
            if let index = activityIndices(ofPhone: number).first { remove(activity: index, at: time) }
        }
        performAtRandom(expectedCount: habits.tokenRotationsPerHour * phoneHours) { number in
            if let index = activityIndices(ofPhone: number).first {
                rotateUpdateToken(ofActivity: index, at: time)
            }
        }
        performAtRandom(expectedCount: habits.quitsPerHour * phoneHours) { quitApp(onPhone: $0) }
        performAtRandom(expectedCount: habits.opensPerHour * phoneHours) { openApp(onPhone: $0, at: time) }
        performAtRandom(expectedCount: habits.updatesPerHour * phoneHours) {
            updateApp(onPhone: $0, at: time)
        }
        performAtRandom(expectedCount: habits.uninstallsPerHour * phoneHours) {
            uninstallApp(onPhone: $0, at: time)
        }
    }

    /// Runs the whole part of the expected count, and the fraction by chance. So the mean is right even if
    /// turns are short.
    private func performAtRandom(expectedCount expected: Double, action act: (Int) -> Void) {
        guard expected > 0 else { return }
        let whole = Int(expected)
        let count = whole + (eventRandom.happens(withProbability: expected - Double(whole)) ? 1 : 0)
        for _ in 0..<min(count, phones.count) { act(Int.random(in: 0..<phones.count, using: &eventRandom)) }
    }
}
