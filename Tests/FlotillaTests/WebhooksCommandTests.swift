import Foundation
import Lifecycle
import ProcessTesting
import Testing
import WebhooksTesting

/// `flotilla webhooks` on a new installation, whose stage calls a real endpoint.
struct WebhooksCommandTests {
    private let directory: TemporaryDirectory
    private let installation: Installation

    init() async throws {
        directory = try TemporaryDirectory()
        installation = try await Installation(
            directory.path,
            environment: [
                "FLOTILLA_WEBHOOKS_ALLOW_HTTP": "true", "FLOTILLA_WEBHOOKS_ALLOW_NETWORKS": "127.0.0.0/8",
            ])
        try await installation.createShop()
    }

    /// Runs the command with the sealing keys of the installation.
    private func webhooks(_ arguments: String...) async throws -> Answer {
        try await installation.flotilla(
            ["webhooks"] + arguments + [
                "--tokens-sealing-keys-file", directory.path + "/sealing-keys", "--webhooks-allow-http",
                "--webhooks-allow-networks", "127.0.0.0/8",
            ])
    }

    @Test func `an endpoint is created, tested, called, rotated and deleted`() async throws {
        let server = try ScriptedEndpoint(keys: []) { _ in .status(204) }
        let url = "http://127.0.0.1:\(server.port)/hooks"
        #expect(try await webhooks("list", "shop").output.hasPrefix("no webhook endpoint"))
        #expect(try await webhooks("show", "shop", "billing").status == ExitCode.usage)
        let refused = try await webhooks("create", "shop", "billing", "--url", "ftp://example.com")
        #expect(refused.status == ExitCode.usage && refused.errors.contains("--url"))
        let created = try await webhooks("create", "shop", "billing", "--url", url)
        #expect(created.status == 0 && created.output.hasPrefix("whsec_"), "\(created.errors)")
        let shown = try await webhooks("show", "shop", "billing", "--json")
        #expect(shown.output.contains(url) && !shown.output.contains("whsec_"))
        let tested = try await webhooks("test", "shop", "billing")
        #expect(tested.status == 0 && tested.output.contains("accepted the test event"), "\(tested.errors)")
        #expect(server.calls.map(\.type) == ["webhook.test"])
        let report = try await installation.flotilla(
            "report", "--app", "shop", "--installation-id", "p-1", "--kind", "startToken",
            "--attributes-type", "Match", "--token", "0a0b0c", "--tokens-sealing-keys-file",
            directory.path + "/sealing-keys")
        #expect(report.status == 0, "\(report.errors)")
        try await eventually("the token is an event") {
            server.calls.contains { $0.type == "token.reported" && $0.data["installationId"] == "p-1" }
        }
        let rotated = try await webhooks("rotate", "shop", "billing")
        #expect(rotated.output.hasPrefix("whsec_") && rotated.output != created.output)
        #expect(try await webhooks("replay", "shop", "billing", "--from", "1h", "--yes").status == 0)
        try await eventually("the token comes again, signed by both secrets") {
            server.calls.last { $0.type == "token.reported" }?.headers["webhook-signature"]?
                .contains(" ") == true
        }
        #expect(try await webhooks("delete", "shop", "billing", "--yes").status == 0)
        #expect(try await webhooks("list", "shop").output.hasPrefix("no webhook endpoint"))
    }
}
