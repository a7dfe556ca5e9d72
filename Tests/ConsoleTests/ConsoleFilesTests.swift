import Compression
import Foundation
import Testing

@testable import Console
@testable import HTTPServer

/// The console's files: the binary has exactly the files of `web/`, and they keep the rules that the policy
/// relies on.
struct ConsoleFilesTests {
    /// The folder of the files.
    private static let web = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources/Stages/ConsoleFiles/web")

    private func sources() throws -> [String: String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.web.path)
        return try Dictionary(
            uniqueKeysWithValues: names.map { name in
                (name, try String(contentsOf: Self.web.appendingPathComponent(name), encoding: .utf8))
            })
    }

    @Test func `the binary has exactly the files of the folder, byte for byte`() throws {
        let sources = try sources()
        #expect(Set(sources.keys) == Set(ConsoleFile.all.keys))
        for (name, text) in sources {
            #expect(ConsoleFile.all[name].map { $0.bytes == Array(text.utf8) } == true, "\(name)")
        }
        #expect(
            Set(ConsoleFile.all.values.map(\.entityTag)).count == sources.count, "tags differ between files")
    }

    private func answer(to name: String, headers: HTTPHeaders = [:]) -> HTTPResponse {
        let request = HTTPRequest(
            method: .get, path: "/console/\(name)", query: [], headers: headers, peer: "127.0.0.1")
        return ConsolePages.response(file: name, to: request)
    }

    @Test func `a browser gets compressed files, and the first load is small`() throws {
        var total = 0
        for (name, file) in ConsoleFile.all {
            let compressed = answer(to: name, headers: ["Accept-Encoding": "br;q=0.5, gzip, deflate"])
            #expect(
                compressed.headers["vary"] == "Accept-Encoding"
                    && compressed.headers["etag"] == file.entityTag)
            total += compressed.body.count
            if compressed.headers["content-encoding"] == "gzip" {
                let plain = unsafe compressed.body.withUnsafeBytes {
                    unsafe Gzip.decompress($0, max: 1 << 20)
                }
                #expect(plain == file.bytes, "\(name)")
            }
        }
        #expect(total < 150_000)
        for header in ["", "gzip;q=0", "identity"] {
            #expect(
                answer(to: "app.js", headers: ["Accept-Encoding": header]).headers["content-encoding"] == nil)
        }
    }

    @Test func `each file that a browser can show as a page has the policy`() {
        for name in ConsoleFile.all.keys {
            let isDocument = name.hasSuffix(".html") || name.hasSuffix(".svg")
            let headers = answer(to: name).headers
            #expect((headers["content-security-policy"] == ConsolePages.policy) == isDocument, "\(name)")
            #expect((headers["referrer-policy"] == "no-referrer") == isDocument, "\(name)")
            #expect(headers["x-content-type-options"] == "nosniff", "\(name)")
            #expect(headers["cross-origin-resource-policy"] == "same-origin", "\(name)")
        }
    }

    @Test func `only the confirmed send and the trial post a send, and the trial is a dry run`() throws {
        let sources = try sources()
        let posts = sources.flatMap { name, text in
            text.matches(of: /post\("\/v1\/sends", [^;]*;/).map { (name, String($0.output)) }
        }.sorted { $0.0 < $1.0 }
        #expect(posts.map(\.0) == ["deliver.js", "trial.js"])
        #expect(posts.last?.1.contains("...body, dryRun: true }") == true)
        let callers = sources.filter { $0.value.contains("deliver(") && $0.key != "deliver.js" }.keys.sorted()
        #expect(callers == ["senddialog.js"])
    }

    @Test func `every dialog has its focus on the harmless button, and Enter confirms nothing`() throws {
        let sources = try sources()
        let dialogs = sources.filter { $0.value.contains("showModal()") }
        #expect(dialogs.keys.sorted() == ["parts.js", "senddialog.js"])
        for (name, text) in dialogs {
            #expect(text.contains(#"value: "no", autofocus: true"#), "\(name)")
            #expect(text.firstMatch(of: /("keydown", |onkeydown: )withoutEnter/) != nil, "\(name)")
            #expect(text.firstMatch(of: /value: "yes", autofocus/) == nil, "\(name)")
        }
    }

    @Test func `no script has more than 205 lines`() throws {
        for (name, text) in try sources() where name.hasSuffix(".js") {
            #expect(text.count { $0 == "\n" } <= 205, "\(name)")
        }
    }

    /// Data becomes text nodes. No script uses a function that makes markup from data or runs it.
    @Test(arguments: [
        "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc",
        "DOMParser", "createContextualFragment", "setHTML", "javascript:", "import(",
    ])
    func `no script makes markup from data`(word: String) throws {
        for (name, text) in try sources() { #expect(!text.contains(word), "\(name)") }
    }

    @Test func `no page has an inline script or style, and nothing comes from another host`() throws {
        for (name, text) in try sources() {
            if name.hasSuffix(".html") {
                #expect(
                    !text.contains("<style") && !text.contains(" style=") && !text.contains(" on"), "\(name)")
                #expect(
                    text.matches(of: /<script[^>]*>/).allSatisfy { $0.output.contains("src=\"/console/") })
            }
            if name.hasSuffix(".js") {
                #expect(!text.contains(#"setAttribute("style""#) && !text.contains("style:"), "\(name)")
            }
            for address in text.matches(of: /https?:\/\/[^"'\s]*/) {
                #expect(address.output == "http://www.w3.org/2000/svg", "\(name)")
            }
        }
    }

    @Test func `every imported module exists, and every module is imported`() throws {
        let sources = try sources()
        var imported: Set<String> = ["app.js"]
        for (name, text) in sources where name.hasSuffix(".js") {
            for line in text.matches(of: /from "\.\/([a-z]+\.js)"/) {
                let module = String(line.output.1)
                #expect(sources[module] != nil, "\(name) imports \(module)")
                imported.insert(module)
            }
        }
        #expect(imported == Set(sources.keys.filter { $0.hasSuffix(".js") }))
    }

    /// Returns the quoted words of a source file between two texts.
    ///
    /// - Parameter file: The source file. Its quoted words belong to the interface.
    private func words(of file: String, from start: String, to end: String) throws -> [String] {
        let root = Self.web.deletingLastPathComponent().deletingLastPathComponent()
        let source = try String(contentsOf: root.appendingPathComponent(file), encoding: .utf8)
        let part = try #require(source.components(separatedBy: start).dropFirst().first)
        let body = try #require(part.components(separatedBy: end).first)
        return body.matches(of: /"([a-z_]+)"/).map { String($0.output.1) }
    }

    @Test func `exactly the reasons to exclude a phone have a description`() throws {
        let file = "FanOut/Expander/Expander+Pages.swift"
        let known =
            try words(of: file, from: "enum ExpansionExclusion", to: "\nextension")
            + words(of: file, from: "var tallyName", to: "\n}")
        let script = try #require(try sources()["words.js"])
        let told = try #require(script.components(separatedBy: "export const exclusions = {").last)
            .components(separatedBy: "};")[0].matches(of: #/\n  ([a-z_]+): /#).map { String($0.output.1) }
        #expect(known.count > 5 && Set(known) == Set(told))
    }

    @Test func `the policy allows only content from this server`() {
        let rules = ConsolePages.policy.components(separatedBy: "; ")
        #expect(rules.contains("default-src 'none'") && rules.contains("frame-ancestors 'none'"))
        #expect(rules.contains("script-src 'self'") && rules.contains("style-src 'self'"))
        #expect(!ConsolePages.policy.contains("unsafe") && !ConsolePages.policy.contains("*"))
        #expect(!ConsolePages.policy.contains("http"))
    }
}
