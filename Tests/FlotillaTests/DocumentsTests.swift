import ProcessTesting
import Testing

/// The short form of `deploy/prove documents`, with three phones: it runs the calls of the documents.
/// `DocumentationTests` compares the text of the documents with the code.
struct DocumentsTests {
    @Test(.timeLimit(.minutes(5))) func `every call of the documents does what its document says`()
        async throws
    {
        let proof = try ChildProcess(
            "bash", arguments: [Repository.path(of: "deploy/proofs/documents"), "3"],
            environment: ["FLOTILLA": builtProductPath(named: "flotilla")])
        #expect(try await proof.exitStatus() == 0, "\(proof.output)\n\(proof.errors)")
        #expect(proof.output.hasSuffix("all calls of the documents do what they say\n"))
    }
}
