internal import SchedulerTesting

/// The kill test of the scheduler, with more commands and kills than in the tests (`SchedulerKillTest`). Two processes
/// die at every step and at random while commands arrive and timers fire. At the end each command must have one reply,
/// and each timer one outcome.
enum SchedulerKillsProof {
    static func run(arguments: [String]) throws {
        var plan = SchedulerKillTest.Plan()
        plan.commands = 100_000
        // Together with one kill at each step, about 200.
        plan.randomKills = 180
        let proof = KillsProof<SchedulerKillTest.Plan>(
            name: "scheduler-kills",
            claim:
                "each schedule is answered once, each timer has one outcome, the newest generation of each group ends, and no cancel in time was ignored",
            flags: ["--orders": \.commands])
        // The command line can change the plan, so the test gets the plan that `run` passes on.
        try proof.run(plan: plan, arguments: arguments) { plan, program, bed, directory in
            let result = try await SchedulerKillTest(
                plan: plan, program: program, bed: bed, directory: directory
            ).run()
            return .init(
                kills: result.killCount, stepsMet: result.reachedSteps,
                counts: "\(result.fired) fired, \(result.cancelled) cancelled, \(result.replaced) replaced, "
                    + "\(result.endedGroups) ends of groups, \(result.deadLetters) dead letters",
                fault: result.fault)
        }
    }
}
