import Lifecycle
import Telemetry
import Testing

@testable import Broker

/// The clock of expiry against a machine's clock that jumps.
struct ExpiryClockTests {
    private static let day: Int64 = 86_400_000
    private static let hour: Int64 = 3_600_000

    /// A machine with a steady clock and a wall clock that a test moves.
    private struct Machine {
        var steady: Int64 = 0
        var lead: Int64 = 0
        var clock: ExpiryClock

        init(kept: ExpiryClock.SavedClock? = nil, lead: Int64 = 0) {
            self.lead = lead
            clock = ExpiryClock(
                saved: kept, wall: WallTime(milliseconds: noon.milliseconds + lead),
                at: Instant(nanoseconds: 0))
        }

        /// Upkeep every half second for a while.
        mutating func pass(_ milliseconds: Int64) {
            for _ in 0..<milliseconds / 500 {
                steady += 500
                clock.observe(
                    wall: WallTime(milliseconds: noon.milliseconds + steady + lead),
                    at: Instant(nanoseconds: steady * 1_000_000))
            }
        }

        /// The lead of the expiry clock over the true time.
        var error: Int64 { clock.time.milliseconds - noon.milliseconds - steady }
    }

    @Test func `a clock that runs well is followed`() {
        var machine = Machine()
        machine.pass(Self.hour)
        #expect(machine.error == 0)
        #expect(!machine.clock.isInDoubt)
    }

    @Test(arguments: [120_000, 3_600_000, 86_400_000 * 365] as [Int64])
    func `a jump ahead of some minutes is not followed, and its end is`(_ lead: Int64) {
        var machine = Machine()
        machine.pass(10_000)
        machine.lead = lead
        machine.pass(50 * 60_000)
        #expect(machine.error == 0)
        #expect(machine.clock.leadMilliseconds == lead)
        machine.lead = 0
        machine.pass(Self.hour * 2)
        #expect(machine.error == 0)
        #expect(!machine.clock.isInDoubt)
    }

    @Test func `a jump ahead that lasts is followed after an hour`() {
        var machine = Machine()
        machine.lead = Self.day
        machine.pass(Self.hour - 1_000)
        #expect(machine.error == 0)
        machine.pass(2_000)
        #expect(machine.error == Self.day)
        #expect(!machine.clock.isInDoubt)
    }

    @Test func `jumps in a row begin the wait again`() {
        var machine = Machine()
        for _ in 0..<10 {
            machine.lead += Self.day
            machine.pass(Self.hour / 2)
        }
        #expect(machine.error == 0)
    }

    @Test func `a jump back counts at once`() {
        var machine = Machine()
        machine.lead = -Self.day
        machine.pass(500)
        #expect(machine.error == -Self.day)
    }

    @Test func `a small lead is made good slowly`() {
        var machine = Machine()
        machine.lead = 30_000
        machine.pass(500)
        #expect(machine.error == 50)
        machine.pass(600_000)
        #expect(machine.error == 30_000)
        #expect(!machine.clock.isInDoubt)
    }

    @Test func `a start in the middle of a jump does not believe it`() {
        var before = Machine()
        before.lead = Self.hour * 2
        before.pass(60_000)
        let after = Machine(kept: before.clock.saved, lead: Self.hour * 2)
        #expect(after.clock.isInDoubt)
        #expect(after.error == 60_000)
    }

    @Test func `a start after some hours of rest trusts the clock, and after a year waits an hour`() {
        let rested = Machine(kept: .init(time: noon, isInDoubt: false), lead: Self.hour * 8)
        #expect(!rested.clock.isInDoubt)
        #expect(rested.error == Self.hour * 8)
        var old = Machine(kept: .init(time: noon, isInDoubt: false), lead: Self.day * 365)
        #expect(old.clock.isInDoubt)
        old.pass(Self.hour + 1_000)
        #expect(old.error == Self.day * 365)
    }

    @Test func `the kept time survives, and a damaged file counts as none`() throws {
        let directory = TestDirectory(inMemory: true)
        let file = ExpiryClockFile(path: directory.path + "/clock", disk: Disk())
        #expect(file.read() == nil)
        var machine = Machine()
        machine.lead = Self.day
        machine.pass(1_000)
        file.save(machine.clock)
        #expect(file.read() == machine.clock.saved)
        flip(file.path, 5, bit: 1)
        #expect(file.read() == nil)
    }

    @Test func `a time that a clock set and then went back from does not stay far away`() {
        #expect(!noon.isDue(noon.milliseconds + 60_000, within: 60_000))
        #expect(noon.isDue(noon.milliseconds, within: 60_000))
        #expect(noon.isDue(noon.milliseconds + Self.day, within: 60_000))
    }
}
