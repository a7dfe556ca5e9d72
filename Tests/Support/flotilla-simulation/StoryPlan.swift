import Simulation

/// The faults of a story.
enum PlannedFault: String, CaseIterable {
    case killedProcess = "a process is killed"
    case killInCall = "a process is killed in a call of Kafka's library"
    case killInPush = "a sender is killed while it pushes"
    case stoppedProcess = "a process is stopped for a while"
    case lostDataDirectory = "a process and its data directory are lost"
    case deadNode = "a node of Kafka dies for a while"
    case lostAnswers = "answers of Kafka get lost"
    case wrongClockOfNode = "the clock of a node of Kafka is wrong"
    case wrongClockOfProcess = "the clock of a process is wrong"
    case apnsTrouble = "APNs has trouble"
    case appTrouble = "APNs has trouble with one app"
    case missingKey = "an app has no provider key for a while"
    case drainedProcess = "a process is stopped in order and started again"
    case upgrade = "all processes are stopped in order and started again, one after the other"
}

/// One step of a story. Its choices come from its own seed, so a story without some of its steps still makes the same
/// choices in the others.
struct PlannedStep {
    enum Action {
        case send
        case sendLater
        case rotateToken
        case dismiss
        case erase
        case stranger
        case fault(PlannedFault)

        var text: String {
            switch self {
            case .send: "the backend sends"
            case .sendLater: "the backend schedules an update"
            case .rotateToken: "a phone gets another token"
            case .dismiss: "a person dismisses an activity"
            case .erase: "the backend erases a user"
            case .stranger: "a stranger reports invented tokens"
            case .fault(let fault): fault.rawValue
            }
        }
    }

    /// The number of the step in the whole story.
    let number: Int
    /// The time since its part of the story began.
    let milliseconds: Int
    let action: Action
    let seed: UInt64
}

/// The plan of a story: the steps of its two parts, before and after the idle days. It depends only on the seed.
struct StoryPlan {
    /// The longest time between a fault and the next one that meets it.
    private static let secondFaultMilliseconds = 3000

    let parts: [[PlannedStep]]

    init(seed: UInt64, minutes: Int) {
        // The plan has other random numbers than the world, which has the same seed.
        var random = SeededGenerator(seed: seed ^ 0x5afe_57e9)
        var count = 0
        var parts: [[PlannedStep]] = []
        for _ in 0..<2 {
            var steps: [(milliseconds: Int, action: PlannedStep.Action, seed: UInt64)] = []
            func add(every interval: ClosedRange<Int>, _ make: () -> PlannedStep.Action) {
                var milliseconds = Int.random(in: interval, using: &random)
                while milliseconds < minutes * 60_000 {
                    let action = make()
                    steps.append((milliseconds, action, random.next()))
                    milliseconds += Int.random(in: interval, using: &random)
                }
            }
            add(every: 500...4000) { .send }
            add(every: 5000...20_000) { .sendLater }
            add(every: 5000...30_000) { .rotateToken }
            add(every: 10_000...60_000) { .dismiss }
            add(every: 30_000...120_000) { .erase }
            add(every: 60_000...120_000) { .stranger }
            func nextFault() -> PlannedStep.Action {
                .fault(PlannedFault.allCases[random.number(below: PlannedFault.allCases.count)])
            }
            add(every: 20_000...60_000) { nextFault() }
            // Some faults meet the next one, such as the restart of a process while answers get lost.
            for step in steps {
                guard case .fault = step.action, random.number(below: 2) == 0 else { continue }
                let pause = random.number(below: Self.secondFaultMilliseconds)
                steps.append((step.milliseconds + pause, nextFault(), random.next()))
            }
            // Steps at the same time keep their order.
            steps.sort { ($0.milliseconds, $0.seed) < ($1.milliseconds, $1.seed) }
            parts.append(
                steps.enumerated().map { index, step in
                    PlannedStep(
                        number: count + index, milliseconds: step.milliseconds, action: step.action,
                        seed: step.seed)
                })
            count += steps.count
        }
        self.parts = parts
    }

    var steps: [PlannedStep] { parts.flatMap(\.self) }
}

/// The values that determine a story.
struct StoryParameters {
    var seed: UInt64
    var minutes: Int
    var apps = 2
    /// The phones of each app.
    var phones = 8
    /// The number of lanes. Nil lets the seed choose it.
    var lanes: Int?
    /// Whether the clocks of Kafka's nodes jump by hours.
    var brokersClocksJump = false
    /// The numbers of the steps that are left out.
    var droppedSteps: Set<Int> = []
    /// Whether the story ends before the idle days.
    var endsBeforeIdleDays = false

    /// The arguments that repeat the story.
    var arguments: String {
        var text = "--seed \(seed) --minutes \(minutes) --apps \(apps) --phones \(phones)"
        if let lanes { text += " --lanes \(lanes)" }
        if brokersClocksJump { text += " --clock-jumps" }
        if endsBeforeIdleDays { text += " --first-part" }
        if !droppedSteps.isEmpty { text += " --without \(Self.text(of: droppedSteps))" }
        return text
    }

    /// Returns numbers as ranges, such as `1-4,7`.
    static func text(of numbers: Set<Int>) -> String {
        var ranges: [ClosedRange<Int>] = []
        for number in numbers.sorted() {
            if let last = ranges.last, last.upperBound + 1 == number {
                ranges[ranges.count - 1] = last.lowerBound...number
            } else {
                ranges.append(number...number)
            }
        }
        return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
            .joined(separator: ",")
    }

    /// Reads what `text(of:)` returns. Returns nil for any other text.
    static func numbers(in text: String) -> Set<Int>? {
        var numbers: Set<Int> = []
        for part in text.split(separator: ",") {
            // One number, or the first and the last number of a range.
            let bounds = part.split(separator: "-")
            guard (1...2).contains(bounds.count), let first = Int(bounds[0]),
                let last = Int(bounds[bounds.count - 1]), first <= last
            else { return nil }
            numbers.formUnion(first...last)
        }
        return numbers
    }
}
