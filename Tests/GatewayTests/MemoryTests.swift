import Foundation
import HTTPServer
import ProcessTesting
import Sends
import Testing

@testable import Gateway

/// The anonymous memory of a gateway stays below the bound that its settings give.
struct MemoryTests {
    /// Enough connections for more bodies than `gateway.bodies` holds.
    private static let connections = 40
    private let settings = GatewaySettings()

    /// Returns the body of a send to as many users as an audience may have, with nearly the largest size.
    private func largestSend() -> [UInt8] {
        let names = (0..<Audience.namesMax).map { "\"\(String(repeating: "u", count: 190))-\($0)\"" }
        let text =
            #"{"event":"update","groupId":"match","audience":{"users":[\#(names.joined(separator: ","))]},"#
            + #""contentState":{"score":1}}"#
        return Array(text.utf8)
    }

    @Test(.timeLimit(.minutes(5)))
    func `the largest sends on many connections fit into the bound of the settings`() async throws {
        let gateways = try await GatewayProcesses(role: "send", types: ["Match"])
        let (gateway, port) = try await gateways.start()
        let body = largestSend()
        #expect(body.count <= GatewayLimits.sendBytesMax)
        #expect(Self.connections * body.count > settings.http.bodiesBytesMax)
        let memory = PrivateMemorySampler(of: gateway.processID)
        let headers = ["Authorization: Bearer \(gateways.key)"]
        let statuses = try await onThread {
            // The last byte of each body comes after all other bodies, so the gateway has all of them at the same time.
            let peers = try (0..<Self.connections).map { _ in try HTTPPeer(port: port) }
            for peer in peers {
                try? peer.begin(
                    "POST", "/v1/sends", headers: headers, body: body.dropLast(), bodyByteCount: body.count)
            }
            return peers.map { peer in (try? peer.end(body: body.suffix(1)).status) ?? 0 }
        }
        // Bodies beyond the limit are refused. The others are stored, or refused because the group is unknown.
        #expect(statuses.contains(503) && statuses.contains { $0 == 202 || $0 == 422 }, "\(statuses)")
        let peak = memory.stop()
        print("private memory at most", peak, "MiB")
        #expect(peak > settings.http.bodiesBytesMax >> 20, "the load does not reach the limit: \(peak) MiB")
        #expect(peak <= settings.anonymousBytesMax >> 20, "\(peak) MiB")
        gateway.send(signal: SIGTERM)
        #expect(try await gateway.exitStatus() == 0)
    }

    @Test func `the page says the bound of the settings`() throws {
        let page = try Repository.text(of: "deploy/book/gateway.md")
        #expect(page.contains("With the defaults that is \(settings.anonymousBytesMax >> 20) MiB."))
        var others = GatewaySettings()
        (others.http.bodiesBytesMax, others.http.answersBytesMax) = (1 << 20, 3 << 20)
        others.http.connectionsMax = 1000
        let formula = (256 << 20) + 2 * (1 << 20) + (128 << 20) + 2 * (3 << 20) + (56 << 10) * 1000
        #expect(others.anonymousBytesMax == formula)
        #expect(
            page.contains(
                "256 MiB + 2 × gateway.bodies + 128 MiB + 2 × gateway.answers + 56 KiB × gateway.connections")
        )
    }
}
