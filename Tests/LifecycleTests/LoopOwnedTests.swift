import Testing

@testable import Lifecycle

/// The lifetime of a value that belongs to an event loop.
@Suite struct LoopOwnedTests {
    /// A test that throws forgets its stages without a stop, and their timers go on.
    @Test func `a value whose owner forgets to stop it lives as long as its thread`() async {
        await #expect(processExitsWith: .success) {
            let ticks = SharedCount()
            func startAndForget() throws {
                _ = try LoopOwned(thread: "forgotten") { Ticker(on: $0.loop, counting: ticks) }
            }
            try startAndForget()
            let ticksBefore = ticks.value
            #expect(eventually { ticks.value >= ticksBefore + 20 })
        }
    }

    @Test func `a stop releases the value and its owner`() throws {
        weak var ticker: Ticker?
        weak var stoppedOwner: LoopOwned<Ticker>?
        do {
            let owner = try LoopOwned(thread: "stopped") { Ticker(on: $0.loop, counting: SharedCount()) }
            stoppedOwner = owner
            nonisolated(unsafe) var value: Ticker?
            _ = owner.perform { value = $0 }
            ticker = value
            value = nil
            #expect(ticker != nil)
            owner.stop { $0.stop() }
            #expect(ticker == nil)
        }
        #expect(stoppedOwner == nil)
    }

    /// A value with a timer that does not retain it.
    private final class Ticker {
        private let loop: EventLoop
        private let ticks: SharedCount
        private var timer: LoopTimer?

        init(on loop: EventLoop, counting ticks: SharedCount) {
            (self.loop, self.ticks) = (loop, ticks)
            timer = LoopTimer(on: loop) { [unowned self] in tick() }
            timer?.schedule(at: loop.now)
        }

        private func tick() {
            ticks.increment()
            timer?.schedule(at: loop.now.advanced(byMilliseconds: 1))
        }

        func stop() { timer?.cancel() }
    }
}
