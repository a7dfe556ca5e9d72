import CSimulatedLibrary
import Glibc

/// Plays stories, each in a process of its own. So a trap is one more failure with a seed, and nothing of a story is left
/// for the next one.
struct StoryRunner {
    /// The status of a story that a signal ended is this number and the signal's, as in a shell. The statuses of broken
    /// laws are lower.
    static let signalStatusBase: Int32 = 128
    /// The longest time for a search of a shorter story, in seconds of the machine.
    private static let shrinkSeconds = 120

    let tellsStory: Bool

    /// Plays a story, and prints its facts or the law that it broke.
    ///
    /// - Returns: zero, the raw value of the broken law, or the status of a signal (`signalStatusBase`).
    func play(_ parameters: StoryParameters) -> Int32 {
        inChild {
            let story = Story(parameters, tellsStory: tellsStory)
            do {
                let summary = try story.play()
                print("seed \(parameters.seed): \(summary)")
                return 0
            } catch {
                if !tellsStory { for line in story.world.story.suffix(60) { print(line) } }
                print("seed \(parameters.seed) broke a law: \(error)")
                return (error as? Violation)?.law.rawValue ?? Violation.Law.noProcessEnds.rawValue
            }
        }
    }

    /// Plays a story without any output, and returns the same status.
    private func status(of parameters: StoryParameters) -> Int32 {
        inChild {
            close(STDOUT_FILENO)
            close(STDERR_FILENO)
            do {
                _ = try Story(parameters, tellsStory: false).play()
                return 0
            } catch {
                return (error as? Violation)?.law.rawValue ?? Violation.Law.noProcessEnds.rawValue
            }
        }
    }

    /// Runs `body` in a child process. Returns its result, or the status of the signal that ended it.
    private func inChild(_ body: () -> Int32) -> Int32 {
        fflush(nil)
        let child = simulated_fork()
        if child == 0 {
            let status = body()
            fflush(nil)
            _exit(status)
        }
        guard child > 0 else {
            perror("flotilla-simulation cannot copy itself")
            exit(70)
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        Story.removeDirectory(ofProcess: child)
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : Self.signalStatusBase + signal
    }

    // MARK: Shorter stories

    /// Leaves out parts and steps of a story while it still breaks the same law, and tells the shortest one.
    func shrink(_ parameters: StoryParameters, thatEndsWith status: Int32) {
        let end = secondsOfMachine() + Self.shrinkSeconds
        var shortest = parameters
        /// Plays a shorter story, and keeps it as the shortest one if it ends with the same status.
        func keepIfItFails(_ tried: StoryParameters) -> Bool {
            guard secondsOfMachine() < end, self.status(of: tried) == status else { return false }
            shortest = tried
            return true
        }
        var firstPart = shortest
        firstPart.endsBeforeIdleDays = true
        _ = keepIfItFails(firstPart)
        let plan = StoryPlan(seed: parameters.seed, minutes: parameters.minutes)
        let steps = shortest.endsBeforeIdleDays ? plan.parts[0] : plan.steps
        // Faults first, because a story with fewer faults says more.
        let faults = steps.filter { if case .fault = $0.action { true } else { false } }
        let others = steps.filter { if case .fault = $0.action { false } else { true } }
        for numbers in [faults, others].map({ $0.map(\.number) }) {
            drop(numbers, from: { shortest }, ifAllowedBy: keepIfItFails)
        }
        tell(shortest, steps: steps, end: status)
    }

    /// Drops numbers in pieces, first large ones and then smaller ones.
    ///
    /// - Parameter keepIfItFails: Plays a story without a piece. Returns true if the piece is not needed.
    private func drop(
        _ numbers: [Int], from current: () -> StoryParameters,
        ifAllowedBy keepIfItFails: (StoryParameters) -> Bool
    ) {
        var remaining = numbers
        var size = remaining.count
        while size >= 1 {
            var start = 0
            while start < remaining.count {
                let piece = remaining[start..<min(start + size, remaining.count)]
                var tried = current()
                tried.droppedSteps.formUnion(piece)
                if keepIfItFails(tried) {
                    remaining.removeSubrange(piece.indices)
                } else {
                    start += size
                }
            }
            size /= 2
        }
    }

    private func tell(_ shortest: StoryParameters, steps: [PlannedStep], end status: Int32) {
        let left = steps.filter { !shortest.droppedSteps.contains($0.number) }
        print("the shortest story that breaks the same law has \(left.count) of \(steps.count) steps:")
        for step in left { print("  \(step.number): \(step.action.text)") }
        print("told:")
        _ = StoryRunner(tellsStory: true).play(shortest)
        print("repeat it with: flotilla-simulation \(shortest.arguments) --story --logs")
    }
}
