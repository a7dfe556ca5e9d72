internal import InsightTesting

enum InsightKillsProof {
    static func run(_ arguments: [String]) throws {
        var plan = InsightKills.Plan()
        plan.records = 2_000_000
        plan.randomKills = 92
        plan.people = 20_000
        let proof = KillsProof<InsightKills.Plan>(
            name: "insight-kills", claim: "every figure of every view agrees with the topics",
            flags: ["--records": \.records, "--people": \.people])
        try proof.run(plan, arguments) { plan, program, bed, directory in
            let result = try await InsightKills(plan, program: program, bed: bed, directory: directory).run()
            return .init(
                kills: result.kills, stepsMet: result.stepsMet,
                counts:
                    "\(result.records) records, \(result.deleted) files deleted, \(result.damaged) damaged, "
                    + "\(result.figures) figures compared",
                fault: result.fault)
        }
    }
}
