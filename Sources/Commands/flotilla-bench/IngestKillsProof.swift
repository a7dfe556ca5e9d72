internal import IngestTesting

/// The long form of ingest's kill test.
enum IngestKillsProof {
    static func run(arguments: [String]) throws {
        var plan = IngestKillTest.Plan()
        plan.reports = 100_000
        plan.installations = 20_000
        plan.randomKills = 300
        let proof = KillsProof<IngestKillTest.Plan>(
            name: "ingest-kills",
            claim: "the registry and the events are exactly those that the core makes from the reports",
            flags: ["--reports": \.reports, "--installations": \.installations])
        try proof.run(plan: plan, arguments: arguments) { plan, program, bed, directory in
            let result = try await IngestKillTest(
                plan: plan, program: program, bed: bed, directory: directory
            ).run()
            return .init(
                kills: result.killCount, stepsMet: result.reachedSteps,
                counts: "\(result.reports) records of reports, \(result.rows) rows, \(result.events) events, "
                    + "\(result.deadLetters) dead letters",
                fault: result.fault)
        }
    }
}
