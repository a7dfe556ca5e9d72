internal import SchedulerTesting

/// The long form of the scheduler's kill test.
enum SchedulerKillsProof {
    static func run(arguments: [String]) throws {
        var plan = SchedulerKillTest.Plan()
        plan.commands = 100_000
        plan.randomKills = 180
        let proof = KillsProof<SchedulerKillTest.Plan>(
            name: "scheduler-kills",
            claim:
                "each schedule is answered once, each timer has one outcome, the newest generation of each group ends, and no cancel in time was ignored",
            flags: ["--orders": \.commands])
        try proof.run(plan: plan, arguments: arguments) { plan, program, bed, directory in
            let result = try await SchedulerKillTest(
                plan: plan, program: program, bed: bed, directory: directory
            )
            .run()
            return .init(
                kills: result.killCount, stepsMet: result.reachedSteps,
                counts: "\(result.fired) fired, \(result.cancelled) cancelled, \(result.replaced) replaced, "
                    + "\(result.ended) ends of groups, \(result.deadLetters) dead letters",
                fault: result.fault)
        }
    }
}
