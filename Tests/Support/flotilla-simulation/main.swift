import Glibc
import Lifecycle
import Simulation

// Simulates installations of Flotilla, one for each seed, and ends with an error at the first broken law.

struct Options {
    var firstSeed: UInt64 = 1
    var count = 1
    /// The time for which further seeds follow, in hours of the machine that simulates.
    var hours = 0
    var minutes = 5
    var brokersClocksJump = false
    var tellsStory = false

    init(_ arguments: [String]) {
        var arguments = arguments[...]
        func number() -> Int {
            guard let value = arguments.popFirst().flatMap({ Int($0) }) else { Options.explain() }
            return value
        }
        while let argument = arguments.popFirst() {
            switch argument {
            case "--seed": firstSeed = UInt64(number())
            case "--count": count = number()
            case "--hours": hours = number()
            case "--minutes": minutes = number()
            case "--clock-jumps": brokersClocksJump = true
            case "--story": tellsStory = true
            case "--logs": SimulatedLog.show()
            default: Options.explain()
            }
        }
    }

    private static func explain() -> Never {
        print(
            "usage: flotilla-simulation [--seed N] [--count N | --hours N] [--minutes N] [--clock-jumps] [--story] [--logs]"
        )
        exit(64)
    }
}

let options = Options(Array(CommandLine.arguments.dropFirst()))

// The order of sets and dictionaries must not depend on the run.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    execv("/proc/self/exe", CommandLine.unsafeArgv)
    perror("flotilla-simulation cannot start itself again")
    exit(70)
}

/// The true time. The monotonic clock is not simulated.
func secondsOfMachine() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec
}

let end = secondsOfMachine() + options.hours * 3600
var seed = options.firstSeed
while seed < options.firstSeed + UInt64(options.count) || secondsOfMachine() < end {
    let story = Story(
        seed: seed, minutes: options.minutes, brokersClocksJump: options.brokersClocksJump,
        tellsStory: options.tellsStory)
    do {
        let summary = try story.play()
        print("seed \(seed): \(summary)")
        fflush(nil)
    } catch {
        if !options.tellsStory { for line in story.world.story.suffix(60) { print(line) } }
        print("seed \(seed) broke a law: \(error)")
        print(
            "repeat it with: flotilla-simulation --seed \(seed) --minutes \(options.minutes) --story --logs")
        exit(1)
    }
    seed += 1
}
