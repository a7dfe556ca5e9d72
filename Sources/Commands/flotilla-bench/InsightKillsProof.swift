internal import InsightTesting

/// The kill test of insight, with more records and kills than in the tests (`InsightKillTest`). Two processes of the
/// stage die at every step and at random while the records of a day arrive. At the end every figure must agree with the
/// topics.
enum InsightKillsProof {
    static func run(arguments: [String]) throws {
        var plan = InsightKillTest.Plan()
        plan.records = 2_000_000
        // Together with one kill at each step, about 100.
        plan.randomKills = 92
        plan.people = 20_000
        let proof = KillsProof<InsightKillTest.Plan>(
            name: "insight-kills", claim: "every figure of every view agrees with the topics",
            flags: ["--records": \.records, "--people": \.people])
        // The command line can change the plan, so the test gets the plan that `run` passes on.
        try proof.run(plan: plan, arguments: arguments) { plan, program, bed, directory in
            let result = try await InsightKillTest(
                plan: plan, program: program, bed: bed, directory: directory
            ).run()
            return .init(
                kills: result.killCount, stepsMet: result.reachedSteps,
                counts:
                    "\(result.records) records, \(result.deletedFiles) files deleted, \(result.damagedFiles) damaged, "
                    + "\(result.figureCount) figures compared",
                fault: result.fault)
        }
    }
}
