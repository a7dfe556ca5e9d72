import Testing

@testable import Settings

@Test func `one declaration gives the flag, the environment name and the table row`() {
    let declaration = Sample.limit.declaration
    #expect(declaration.flag == "--broker-request-max")
    #expect(declaration.shortFlag(in: "broker") == "--request-max")
    #expect(declaration.shortFlag(in: "gateway") == nil)
    #expect(declaration.environmentName == "FLOTILLA_BROKER_REQUEST_MAX")
    #expect(
        SettingsSchema(declarations: [declaration]).markdown.contains(
            "| `broker.request-max` | `1KiB` | a limit (1B to 1MiB) |"))
}

@Test func `the nearest name is offered only when it is near`() {
    #expect(nearestName(to: "brokr.listen", among: ["broker.listen", "kafka.names"]) == "broker.listen")
    #expect(nearestName(to: "color", among: ["broker.listen"]) == nil)
}
