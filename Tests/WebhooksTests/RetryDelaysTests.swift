import Testing

@testable import Webhooks

/// Tests of the pauses between the attempts of an event.
struct RetryDelaysTests {
    @Test(arguments: [0, 0.5, 1]) func `ten attempts last about three days`(_ chance: Double) {
        var sum = 0
        var attempts = 1
        while let pause = RetryDelays.pause(
            afterAttempts: attempts, retryAfterSeconds: nil, chance: chance)
        {
            sum += pause
            attempts += 1
        }
        #expect(attempts == RetryDelays.attemptsMax && attempts == 10)
        let days = Double(sum) / 86_400_000
        #expect(days > 2.8 && days < 3.5)
    }

    @Test func `an endpoint can ask for a longer pause, up to a day, and not for a shorter one`() {
        func pause(_ seconds: Int) -> Int? {
            RetryDelays.pause(afterAttempts: 1, retryAfterSeconds: seconds, chance: 0.5)
        }
        #expect(pause(0) == 5000)
        #expect(pause(120) == 120_000)
        #expect(pause(10_000_000) == 86_400_000)
    }

    @Test func `after a restart, the next attempt of an event comes within a minute`() {
        #expect(RetryDelays.pauseAfterRestart(attempts: 0) == 0)
        #expect(RetryDelays.pauseAfterRestart(attempts: 1) == 5000)
        #expect((2...20).allSatisfy { RetryDelays.pauseAfterRestart(attempts: $0) == 60_000 })
    }
}
