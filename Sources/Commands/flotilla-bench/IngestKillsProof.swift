internal import IngestTesting

enum IngestKillsProof {
    static func run(_ arguments: [String]) throws {
        var plan = IngestKills.Plan()
        plan.reports = 100_000
        plan.installations = 20_000
        plan.randomKills = 300
        let proof = KillsProof<IngestKills.Plan>(
            name: "ingest-kills",
            claim: "the registry and the events are exactly those that the core makes from the reports",
            flags: ["--reports": \.reports, "--installations": \.installations])
        try proof.run(plan, arguments) { plan, program, bed, directory in
            let result = try await IngestKills(plan, program: program, bed: bed, directory: directory).run()
            return .init(
                kills: result.kills, stepsMet: result.stepsMet,
                counts: "\(result.reports) records of reports, \(result.rows) rows, \(result.events) events, "
                    + "\(result.deadLetters) dead letters",
                fault: result.fault)
        }
    }
}
