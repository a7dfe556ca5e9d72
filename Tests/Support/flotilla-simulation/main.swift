import Glibc
import Lifecycle
import Simulation

// Simulates installations of Flotilla, one for each seed, and ends with an error at the first broken law.

struct Options {
    var parameters = StoryParameters(seed: 1, minutes: 5)
    var count = 1
    /// The time for which further seeds follow, in hours of the machine that simulates.
    var hours = 0
    var tellsStory = false
    var shrinks = true
    /// Whether the next seeds follow after a broken law.
    var goesOn = false

    init(_ arguments: [String]) {
        var arguments = arguments[...]
        func number() -> Int {
            guard let value = arguments.popFirst().flatMap({ Int($0) }), value >= 0 else { Options.explain() }
            return value
        }
        while let argument = arguments.popFirst() {
            switch argument {
            case "--seed": parameters.seed = UInt64(number())
            case "--count": count = number()
            case "--hours": hours = number()
            case "--minutes": parameters.minutes = number()
            case "--apps": parameters.apps = max(1, number())
            case "--phones": parameters.phones = max(1, number())
            case "--lanes": parameters.lanes = max(1, number())
            case "--clock-jumps": parameters.brokersClocksJump = true
            case "--first-part": parameters.endsBeforeIdleDays = true
            case "--without":
                guard let numbers = arguments.popFirst().flatMap({ StoryParameters.numbers(in: $0) }) else {
                    Options.explain()
                }
                parameters.droppedSteps = numbers
            case "--story": tellsStory = true
            case "--no-shrink": shrinks = false
            case "--go-on": goesOn = true
            case "--logs": SimulatedLog.isShown = true
            default: Options.explain()
            }
        }
    }

    private static func explain() -> Never {
        print(
            """
            usage: flotilla-simulation [--seed N] [--count N | --hours N] [--minutes N] [--apps N] [--phones N]
                   [--lanes N] [--clock-jumps] [--first-part] [--without STEPS] [--story] [--logs] [--no-shrink] [--go-on]
            """)
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
let runner = StoryRunner(tellsStory: options.tellsStory)
var parameters = options.parameters
var failureCount = 0
while parameters.seed < options.parameters.seed + UInt64(options.count) || secondsOfMachine() < end {
    let status = runner.play(parameters)
    if status != 0 {
        failureCount += 1
        let signal = status - StoryRunner.signalStatusBase
        if signal > 0 { print("seed \(parameters.seed) ended with signal \(signal)") }
        print("repeat it with: flotilla-simulation \(parameters.arguments) --story --logs")
        if options.shrinks { runner.shrink(parameters, thatEndsWith: status) }
        if !options.goesOn { exit(1) }
    }
    parameters.seed += 1
}
exit(failureCount == 0 ? 0 : 1)
