import Lifecycle
import Telemetry
import Testing

@testable import Broker

/// The clock by which records expire, on a machine whose clock jumps. A lead of more than a minute is a jump, which the
/// expiry clock follows only after an hour. It follows a smaller lead slowly: by one part in ten of the time that
/// passes.
struct ExpiryClockTests {
    private static let dayMilliseconds: Int64 = 86_400_000
    private static let hourMilliseconds: Int64 = 3_600_000

    /// A machine with a steady clock and a wall clock that a test moves.
    private struct Machine {
        /// The steady clock: milliseconds since the start, at `noon`.
        var steady: Int64 = 0
        /// Milliseconds by which the wall clock is ahead of the true time.
        var lead: Int64 = 0
        var clock: ExpiryClock

        init(saved: ExpiryClock.SavedClock? = nil, lead: Int64 = 0) {
            self.lead = lead
            clock = ExpiryClock(
                saved: saved, wall: WallTime(milliseconds: noon.milliseconds + lead),
                at: Instant(nanoseconds: 0))
        }

        /// Lets time pass, and shows the clocks to the expiry clock each half second.
        mutating func pass(milliseconds: Int64) {
            for _ in 0..<milliseconds / 500 {
                steady += 500
                clock.observe(
                    wall: WallTime(milliseconds: noon.milliseconds + steady + lead),
                    at: Instant(nanoseconds: steady * 1_000_000))
            }
        }

        /// Milliseconds by which the expiry clock is ahead of the true time.
        var error: Int64 { clock.time.milliseconds - noon.milliseconds - steady }
    }

    @Test func `a correct clock is followed`() {
        var machine = Machine()
        machine.pass(milliseconds: Self.hourMilliseconds)
        #expect(machine.error == 0)
        #expect(!machine.clock.isInDoubt)
    }

    @Test(arguments: [120_000, 3_600_000, 86_400_000 * 365] as [Int64])
    func `a temporary jump ahead is not followed, and the clock is followed again after it`(_ lead: Int64) {
        var machine = Machine()
        machine.pass(milliseconds: 10_000)
        machine.lead = lead
        machine.pass(milliseconds: 50 * 60_000)
        #expect(machine.error == 0)
        #expect(machine.clock.leadMilliseconds == lead)
        machine.lead = 0
        machine.pass(milliseconds: Self.hourMilliseconds * 2)
        #expect(machine.error == 0)
        #expect(!machine.clock.isInDoubt)
    }

    @Test func `a jump ahead that lasts is followed after an hour`() {
        var machine = Machine()
        machine.lead = Self.dayMilliseconds
        machine.pass(milliseconds: Self.hourMilliseconds - 1_000)
        #expect(machine.error == 0)
        machine.pass(milliseconds: 2_000)
        #expect(machine.error == Self.dayMilliseconds)
        #expect(!machine.clock.isInDoubt)
    }

    @Test func `jumps in a row begin the wait again`() {
        var machine = Machine()
        for _ in 0..<10 {
            machine.lead += Self.dayMilliseconds
            machine.pass(milliseconds: Self.hourMilliseconds / 2)
        }
        #expect(machine.error == 0)
    }

    @Test func `a jump back counts at once`() {
        var machine = Machine()
        machine.lead = -Self.dayMilliseconds
        machine.pass(milliseconds: 500)
        #expect(machine.error == -Self.dayMilliseconds)
    }

    @Test func `a small lead is followed slowly`() {
        var machine = Machine()
        machine.lead = 30_000
        machine.pass(milliseconds: 500)
        // A tenth of the 500 ms.
        #expect(machine.error == 50)
        machine.pass(milliseconds: 600_000)
        #expect(machine.error == 30_000)
        #expect(!machine.clock.isInDoubt)
    }

    @Test func `a start in the middle of a jump does not believe it`() {
        var before = Machine()
        before.lead = Self.hourMilliseconds * 2
        before.pass(milliseconds: 60_000)
        let after = Machine(saved: before.clock.saved, lead: Self.hourMilliseconds * 2)
        #expect(after.clock.isInDoubt)
        // The true time stands at `noon` in `after`, so the minute that `before` ran counts as its error.
        #expect(after.error == 60_000)
    }

    @Test func `a start after some hours follows the clock at once`() {
        let afterPause = Machine(saved: .init(time: noon, isInDoubt: false), lead: Self.hourMilliseconds * 8)
        #expect(!afterPause.clock.isInDoubt)
        #expect(afterPause.error == Self.hourMilliseconds * 8)
    }

    @Test func `a start after a year follows the clock after an hour`() {
        var afterYear = Machine(saved: .init(time: noon, isInDoubt: false), lead: Self.dayMilliseconds * 365)
        #expect(afterYear.clock.isInDoubt)
        afterYear.pass(milliseconds: Self.hourMilliseconds + 1_000)
        #expect(afterYear.error == Self.dayMilliseconds * 365)
    }

    @Test func `the saved time survives, and a damaged file counts as a missing one`() throws {
        let directory = TestDirectory(inMemory: true)
        let file = ExpiryClockFile(path: directory.path + "/clock", disk: Disk())
        #expect(file.read() == nil)
        var machine = Machine()
        machine.lead = Self.dayMilliseconds
        machine.pass(milliseconds: 1_000)
        file.save(machine.clock)
        #expect(file.read() == machine.clock.saved)
        flipBit(1, at: 5, in: file.path)
        #expect(file.read() == nil)
    }

    // A deadline further away than its period was set by a clock that was ahead.
    @Test func `a deadline further away than its period is due at once`() {
        #expect(!noon.isDue(noon.milliseconds + 60_000, within: 60_000))
        #expect(noon.isDue(noon.milliseconds, within: 60_000))
        #expect(noon.isDue(noon.milliseconds + Self.dayMilliseconds, within: 60_000))
    }
}
