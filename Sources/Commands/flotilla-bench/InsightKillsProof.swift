internal import InsightTesting

/// The long form of insight's kill test.
enum InsightKillsProof {
    static func run(arguments: [String]) throws {
        var plan = InsightKillTest.Plan()
        plan.records = 2_000_000
        plan.randomKills = 92
        plan.people = 20_000
        let proof = KillsProof<InsightKillTest.Plan>(
            name: "insight-kills", claim: "every figure of every view agrees with the topics",
            flags: ["--records": \.records, "--people": \.people])
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
