internal import Lifecycle

extension Command {
    /// `flotilla sealing-keys`: makes the file that all processes of an installation need.
    static let sealingKeys = Command(
        name: "sealing-keys",
        summary: "Makes a file of keys that encrypt push tokens; every process needs the same file.",
        usage: "make FILE", example: "flotilla sealing-keys make /etc/flotilla/sealing-keys"
    ) { invocation in
        guard invocation.positionals.first == "make", invocation.positionals.count == 2 else {
            throw CommandError(status: .usage, "use make with the path of the new file")
        }
        let file = invocation.positionals[1]
        try SealingKeyFile.createNew(at: file)
        print("made \(file); keep a copy in a safe place, because tokens are lost without the keys")
    }
}
