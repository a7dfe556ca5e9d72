import Foundation
import Testing

/// What the documents say must be what the binary says.
struct DocumentationTests {
    private func rootPath(_ path: String, from file: String = #filePath) -> String {
        URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(path).path
    }

    private func document(_ path: String) throws -> String {
        try String(contentsOfFile: rootPath(path), encoding: .utf8)
    }

    /// Of the operator's book, its index among them.
    private func pages() throws -> [String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: rootPath("deploy/book"))
            .filter { $0.hasSuffix(".md") }.sorted()
        return ["deploy/README.md"] + names.map { "deploy/book/" + $0 }
    }

    @Test func `the index of the operator's book names every page, and no link in the book leads nowhere`()
        throws
    {
        let index = try document("deploy/README.md")
        let pages = try pages()
        for page in pages.dropFirst() {
            #expect(index.contains("](\(page.dropFirst("deploy/".count)))"), "\(page)")
        }
        for page in pages {
            let directory = URL(fileURLWithPath: page).deletingLastPathComponent().relativePath
            for link in try document(page).matches(of: /\]\(([^)#:]+)(#[^)]*)?\)/) {
                let target = rootPath(directory + "/" + link.output.1)
                #expect(FileManager.default.fileExists(atPath: target), "\(page): \(link.output.1)")
            }
        }
    }

    @Test func `the operator's book has the table of settings that the binary prints`() async throws {
        let table = try await flotilla("config", "--markdown").output
        #expect(!table.isEmpty)
        #expect(
            try document("deploy/book/settings.md").contains(table),
            "run `flotilla config --markdown` and put it there")
    }

    @Test func `every suite that starts a Kafka client is left out where threads are watched`() throws {
        let patterns = try document("deploy/sanitize-thread.skip").split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.map { try Regex(String($0)) }
        let files = FileManager.default.enumerator(atPath: rootPath("Tests"))
        while let file = files?.nextObject() as? String {
            guard file.hasSuffix("Tests.swift"), !file.hasSuffix("DocumentationTests.swift"),
                try document("Tests/" + file).contains(
                    /TestCluster|MockCluster\(|GatewayBench|SendsBench|GatewayProcess/)
            else { continue }
            let module = file.prefix { $0 != "/" }
            let suite = URL(fileURLWithPath: file).deletingPathExtension().lastPathComponent
            #expect(patterns.contains { "\(module).\(suite)".contains($0) }, "\(file)")
        }
    }

    @Test func `every fault that is put into the sources on purpose still goes into them`() async throws {
        let patches = (FileManager.default.enumerator(atPath: rootPath("Tests/Mutants"))?.allObjects ?? [])
            .compactMap { $0 as? String }.filter { $0.hasSuffix(".patch") }
        #expect(!patches.isEmpty)
        for patch in patches {
            let text = try document("Tests/Mutants/" + patch)
            let finder = text.prefix { $0 != "\n" }.replacing("# found by: ", with: "")
            let module = finder.prefix { $0.isLetter || $0.isNumber }
            #expect(
                FileManager.default.fileExists(atPath: rootPath("Tests/\(module)/")),
                "\(patch): its first line names no module of tests")
            for part in text.components(separatedBy: "\n--- a/").dropFirst() {
                let source = try document(String(part.prefix { $0 != "\n" && $0 != "\t" }))
                // Text, context and all, that the sources must have.
                for hunk in part.components(separatedBy: "\n@@ ").dropFirst() {
                    let old = hunk.components(separatedBy: "\ndiff ")[0].split(separator: "\n").dropFirst()
                        .filter { $0.first == " " || $0.first == "-" }.map { $0.dropFirst() }
                    #expect(
                        source.contains(old.joined(separator: "\n")), "\(patch) does not apply any more")
                    let told = hunk.firstMatch(of: #/^-\d+(?:,(\d+))? /#).map {
                        $0.1.flatMap { Int($0) } ?? 1
                    }
                    #expect(
                        told == old.count, "\(patch): a hunk says that it has other than \(old.count) lines")
                }
            }
        }
    }

    @Test func `every module is on the map`() throws {
        let map = try document("Sources/README.md")
        let modules = try FileManager.default.contentsOfDirectory(atPath: rootPath("Sources"))
            .filter { !$0.contains(".") && $0 != "CKafkaPeer" }
        for module in modules { #expect(map.contains("`\(module)`"), "\(module)") }
    }

    @Test
    func `every name that the operator's book or a dashboard gives a metric is one that the code knows`()
        throws
    {
        let dashboards = ["deploy/compose/grafana/dashboards/flotilla.json"]
        let names = try (pages() + dashboards).flatMap { page in
            try document(page).matches(of: /flotilla_[a-z_]+/).map {
                $0.output.replacing(/_bucket$/, with: "")
            }
        }
        #expect(!names.isEmpty)
        var sources = ""
        let files = FileManager.default.enumerator(atPath: rootPath("Sources"))
        while let file = files?.nextObject() as? String {
            if file.hasSuffix(".swift") { sources += try document("Sources/" + file) }
        }
        for name in Set(names) { #expect(sources.contains(name), "\(name)") }
    }
}
