import HTTPClient
import HTTPServer
import Lifecycle
import Members
import ProcessTesting
import Synchronization
import TLS
import Testing

/// Queries between processes over TLS, with the certificate that the member publishes.
struct MemberTLSTests {
    private let authority = CertificateAuthority(name: "member")

    private func makeServer() throws -> HTTPServer {
        let certificate = authority.issue(for: ["127.0.0.1"])
        let credentials = try ServerCredentials(
            chain: certificate.chainPEM, key: certificate.keyPEM, protocols: HTTPServerTLS.protocols)
        var routes = HTTPRoutes()
        routes.on(.post, path: "/parts") { request in
            .text("\(request.headers["authorization"] ?? "") \(request.body.count)")
        }
        return try HTTPServer(
            name: "member", host: "127.0.0.1", port: 0, tls: HTTPServerTLS(credentials: credentials),
            routes: routes)
    }

    private func member(at port: Int, certificate: String?) -> Member {
        var member = Member(
            stage: "insight", process: "p", host: "127.0.0.1", port: port, secret: "secret", lanes: [],
            startedAt: 0, at: 0)
        member.certificate = certificate
        return member
    }

    /// Asks a member on a loop. Returns the text of the answer, or nil if there is none.
    private func ask(_ member: Member, bodies: [Int]) async throws -> [String?] {
        let answers = Mutex<[String?]>([])
        let client = try LoopOwned(thread: "asking") { MemberClient(on: $0.loop) }
        for (index, count) in bodies.enumerated() {
            client.execute { client in
                let body = [UInt8](repeating: 65, count: count)
                client.ask(
                    member, at: "/parts", body: body, until: .now().advanced(byMilliseconds: 5000),
                    isLast: true
                ) { answer in
                    let text = answer?.body.map { String(decoding: $0, as: UTF8.self) }
                    answers.withLock { $0.append(text) }
                }
            }
            try await eventually("an answer, or none") { answers.withLock { $0.count } > index }
        }
        await client.stop { $0.end() }
        return answers.withLock { $0 }
    }

    @Test func `a member with TLS is asked with the certificate that it publishes`() async throws {
        let server = try makeServer()
        let trusted = member(at: server.port, certificate: authority.certificatePEM)
        // The large body needs many records of TLS, which have at most 16 KiB.
        #expect(
            try await ask(trusted, bodies: [10, 300_000])
                == ["Bearer secret 10", "Bearer secret 300000"])
        let other = CertificateAuthority(name: "other").certificatePEM
        for certificate in [nil, other, "no certificate"] {
            let answers = try await ask(member(at: server.port, certificate: certificate), bodies: [10])
            #expect(answers == [nil], "\(certificate ?? "plain text")")
        }
        await server.stop(by: .now())
    }
}
