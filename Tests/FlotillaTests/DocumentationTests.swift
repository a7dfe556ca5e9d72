import Foundation
import ProcessTesting
import Testing

/// Tests that the text of the documents agrees with the binary and the code. `DocumentsTests` runs their calls.
struct DocumentationTests {
    /// Metrics that the page about upgrades names because they are gone.
    private static let removedMetrics: Set<Substring> = ["flotilla_fan_out_page_rows"]

    /// The pages of the operator's book, with its index first.
    private func pages() throws -> [String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: Repository.path(of: "deploy/book"))
            .filter { $0.hasSuffix(".md") }.sorted()
        return ["deploy/README.md"] + names.map { "deploy/book/" + $0 }
    }

    @Test func `the index of the operator's book names every page, and every link in the book works`()
        throws
    {
        let index = try Repository.text(of: "deploy/README.md")
        let pages = try pages()
        for page in pages.dropFirst() {
            #expect(index.contains("](\(page.dropFirst("deploy/".count)))"), "\(page)")
        }
        for page in pages {
            let directory = URL(fileURLWithPath: page).deletingLastPathComponent().relativePath
            for link in try Repository.text(of: page).matches(of: /\]\(([^)#:]+)(#[^)]*)?\)/) {
                let target = Repository.path(of: directory + "/" + link.output.1)
                #expect(FileManager.default.fileExists(atPath: target), "\(page): \(link.output.1)")
            }
        }
    }

    @Test func `the operator's book has the table of settings that the binary prints`() async throws {
        let table = try await flotilla("config", "--markdown").output
        #expect(!table.isEmpty)
        #expect(
            try Repository.text(of: "deploy/book/settings.md").contains(table),
            "replace the table with the output of `flotilla config --markdown`")
    }

    @Test func `ThreadSanitizer skips every suite that starts a Kafka client`() throws {
        let patterns = try Repository.text(of: "deploy/sanitize-thread.skip").split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.map { try Regex(String($0)) }
        let files = FileManager.default.enumerator(atPath: Repository.path(of: "Tests"))
        while let file = files?.nextObject() as? String {
            guard file.hasSuffix("Tests.swift"), !file.hasSuffix("DocumentationTests.swift"),
                try Repository.text(of: "Tests/" + file).contains(
                    /TestCluster|MockCluster\(|GatewayBench|SendsBench|GatewayProcess/)
            else { continue }
            let module = file.prefix { $0 != "/" }
            let suite = URL(fileURLWithPath: file).deletingPathExtension().lastPathComponent
            #expect(patterns.contains { "\(module).\(suite)".contains($0) }, "\(file)")
        }
    }

    @Test func `every module is on the map`() throws {
        let map = try Repository.text(of: "Sources/README.md")
        let layers = try FileManager.default.contentsOfDirectory(atPath: Repository.path(of: "Sources"))
            .filter { !$0.contains(".") }
        let modules = try (layers.map { "Sources/" + $0 } + ["Tests/Support"]).flatMap {
            try FileManager.default.contentsOfDirectory(atPath: Repository.path(of: $0)).filter {
                !$0.contains(".")
            }
        }
        #expect(modules.count > 50)
        for module in modules { #expect(map.contains("`\(module)`"), "\(module)") }
    }

    /// The pages beside the code and the tests, and the page that a newcomer sees first.
    private func codePages() throws -> [String] {
        try ["README.md"]
            + ["Sources", "Tests"].flatMap { folder in
                try FileManager.default.subpathsOfDirectory(atPath: Repository.path(of: folder))
                    .filter { $0.hasSuffix(".md") }.sorted().map { folder + "/" + $0 }
            }
    }

    @Test func `every link on a page beside the code works`() throws {
        for page in try codePages() {
            let directory = URL(fileURLWithPath: page).deletingLastPathComponent().relativePath
            for link in try Repository.text(of: page).matches(of: /\]\(([^)#:]+)(#[^)]*)?\)/) {
                let target = Repository.path(of: directory + "/" + link.output.1)
                #expect(FileManager.default.fileExists(atPath: target), "\(page): \(link.output.1)")
            }
        }
    }

    @Test func `every module has a page, and every file that a page names exists`() throws {
        let pages = try codePages().filter { $0.hasPrefix("Sources/") && $0 != "Sources/README.md" }
        let described = Set(pages.map { String($0.dropFirst("Sources/".count).dropLast("/README.md".count)) })
        for layer in ["Platform", "Domain", "OneMachine", "Stages", "Commands"] {
            for module in try FileManager.default.contentsOfDirectory(
                atPath: Repository.path(of: "Sources/" + layer))
            {
                #expect(described.contains("\(layer)/\(module)"), "Sources/\(layer)/\(module)/README.md")
            }
        }
        for page in pages + ["Tests/Support/README.md"] {
            let directory = URL(fileURLWithPath: page).deletingLastPathComponent().relativePath
            let files = try FileManager.default.subpathsOfDirectory(atPath: Repository.path(of: directory))
            for name in try Repository.text(of: page).matches(
                of: /`([A-Za-z0-9+\/-]+\.(?:swift|h|c|cpp|js))`/)
            {
                let isThere = files.contains { $0 == name.output.1 || $0.hasSuffix("/" + name.output.1) }
                #expect(isThere, "\(page): \(name.output.1)")
            }
        }
    }

    @Test
    func `every metric that the operator's book or a dashboard names exists in the code`()
        throws
    {
        let dashboards = ["deploy/compose/grafana/dashboards/flotilla.json"]
        let names = try (pages() + dashboards).flatMap { page in
            try Repository.text(of: page).matches(of: /flotilla_[a-z_]+/).map {
                $0.output.replacing(/_bucket$/, with: "")
            }
        }
        #expect(!names.isEmpty)
        var sources = ""
        let files = FileManager.default.enumerator(atPath: Repository.path(of: "Sources"))
        while let file = files?.nextObject() as? String {
            if file.hasSuffix(".swift") { sources += try Repository.text(of: "Sources/" + file) }
        }
        let stages = Set(sources.matches(of: /stage: "([a-z_]+)", records:/).map { String($0.output.1) })
        for name in Set(names).subtracting(Self.removedMetrics) {
            // StageMetrics composes a name from the stage and the rest.
            let isComposed = stages.contains { stage in
                let prefix = "flotilla_\(stage)_"
                return name.hasPrefix(prefix) && sources.contains("\"\(name.dropFirst(prefix.count))\"")
            }
            #expect(isComposed || sources.contains(name), "\(name)")
        }
    }
}
