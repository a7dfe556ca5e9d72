import Cryptography
import Foundation
import Identifiers
import Lifecycle
import ProcessTesting
import TLS
import Testing

@testable import APNs

/// The client against `nghttpd`, an independent server. It answers 200 if it has a file of that name.
@Suite struct NghttpdTests {
    @Test func `nghttpd answers every push, over few streams and many`() async throws {
        let authority = CertificateAuthority(name: "Test CA")
        let identity = authority.issue(for: ["localhost", "127.0.0.1"])
        let directory = try TemporaryDirectory()
        let chain = try directory.writeFile(named: "chain.pem", content: identity.chainPEM)
        let key = try directory.writeFile(named: "key.pem", content: identity.keyPEM)
        let devices = directory.filePath(named: "3/device")
        try FileManager.default.createDirectory(atPath: devices, withIntermediateDirectories: true)
        for tag in UInt64(1)...500 {
            let name = String(decoding: Hex.encode(Pusher.token(tag)), as: UTF8.self)
            try Data().write(to: URL(fileURLWithPath: "\(devices)/\(name)"))
        }
        for streams in ["3", "100"] {
            let server = try ChildProcess(
                "nghttpd", arguments: ["-m", streams, "-d", directory.path, "0", key, chain])
            let pusher = try Pusher(
                Endpoint(host: "127.0.0.1", port: try await server.listeningPort()),
                trust: .authorities(.text(authority.certificatePEM)))
            pusher.push(1..<601)
            let outcomes = try await pusher.allOutcomes(atLeast: 600)
            #expect((1...500).allSatisfy { outcomes[$0]?.map(\.status) == [200] })
            #expect((501...600).allSatisfy { outcomes[$0]?.map(\.status) == [404] })
            #expect((501...600).allSatisfy { outcomes[$0]?[0].disposition == .requestFaulty })
        }
    }
}
