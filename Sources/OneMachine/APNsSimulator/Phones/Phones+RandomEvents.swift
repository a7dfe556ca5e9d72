/// Actions of users at random times.
extension Phones {
    /// Limit on the time for which one call simulates events. After a longer gap the rest of it has no events, so
    /// that a delayed tick causes no burst.
    private static let catchUpMilliseconds: Int64 = 10_000
    private static let hourMilliseconds = 3_600_000.0

    /// Simulates as many events as the rates give for the time since the last call.
    func simulateEvents(rates: PhoneEventRates, time: Int64) {
        let previousTime = eventsSimulatedUntil
        eventsSimulatedUntil = time
        let isFirstCall = previousTime == .min
        guard !isFirstCall, time > previousTime, !phones.isEmpty else { return }
        let milliseconds = min(time - previousTime, Self.catchUpMilliseconds)
        // The rates are for one hour of one phone.
        let phoneHours = Double(milliseconds) / Self.hourMilliseconds * Double(phones.count)
        performAtRandom(expectedCount: rates.leavesPerHour * phoneHours) { number in
            let range = rates.awayMilliseconds
            let share = eventRandom.fraction()
            takeOffline(
                phone: number,
                until: time + range.lowerBound + Int64(share * Double(range.upperBound - range.lowerBound)))
        }
        performAtRandom(expectedCount: rates.dismissalsPerHour * phoneHours) { number in
            if let index = activityIndices(ofPhone: number).first { remove(activity: index, at: time) }
        }
        performAtRandom(expectedCount: rates.tokenRotationsPerHour * phoneHours) { number in
            if let index = activityIndices(ofPhone: number).first {
                rotateUpdateToken(ofActivity: index, at: time)
            }
        }
        performAtRandom(expectedCount: rates.quitsPerHour * phoneHours) { quitApp(onPhone: $0) }
        performAtRandom(expectedCount: rates.opensPerHour * phoneHours) { openApp(onPhone: $0, at: time) }
        performAtRandom(expectedCount: rates.updatesPerHour * phoneHours) {
            updateApp(onPhone: $0, at: time)
        }
        performAtRandom(expectedCount: rates.uninstallsPerHour * phoneHours) {
            uninstallApp(onPhone: $0, at: time)
        }
    }

    /// Calls `action` with the numbers of random phones. The whole part of the expected count is certain, and
    /// the fraction is the probability of one more call. So the mean is right even if calls are frequent.
    private func performAtRandom(expectedCount: Double, action: (Int) -> Void) {
        guard expectedCount > 0 else { return }
        let certainCount = Int(expectedCount)
        let happensOnceMore = eventRandom.happens(withProbability: expectedCount - Double(certainCount))
        let count = certainCount + (happensOnceMore ? 1 : 0)
        for _ in 0..<min(count, phones.count) {
            action(Int.random(in: 0..<phones.count, using: &eventRandom))
        }
    }
}
