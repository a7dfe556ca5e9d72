// The calls about activity types, segments and definitions.

extension OpenAPI {
    /// Returns the path that lists the objects of a kind.
    private static func list(_ kind: CatalogObjectKind, id: String, of objects: String) -> String {
        ##"""
        "/v1/\##(kind.path)":{"get":{
          "operationId":"list\##(id)",
          "summary":"All \##(objects) of the app.",
          "description":"Role read.",
          "security":[{"bearer":[]}],
          "responses":{
            \##(response(200, schema: "items", meaning: "All of them, by name.")),
            \##(refusals())
          }
        }}
        """##
    }

    /// Returns the path of one object.
    ///
    /// - Parameters:
    ///   - id: The object's name in each `operationId`.
    ///   - shown: The schema of the object.
    ///   - schema: The schema of the body of `PUT`, or nil if there is no such call.
    private static func object(
        _ kind: CatalogObjectKind, id: String, shown: String, put schema: String?
    ) -> String {
        var calls = [show(id: id, shown: shown), delete(id: id)]
        if let schema { calls.append(put(id: id, shown: shown, schema: schema)) }
        return ##""/v1/\##(kind.path)/{name}":{\##(calls.joined(separator: ","))}"##
    }

    private static let nameParameter = ##""parameters":[{"$ref":"#/components/parameters/name"}]"##

    private static func show(id: String, shown: String) -> String {
        ##"""
        "get":{
          "operationId":"show\##(id)",
          "summary":"Shows one object.",
          "description":"Role read.",
          "security":[{"bearer":[]}],
          \##(nameParameter),
          "responses":{
            \##(response(200, schema: shown, meaning: "The current object.")),
            \##(refusals(missing: true))
          }
        }
        """##
    }

    private static func delete(id: String) -> String {
        ##"""
        "delete":{
          "operationId":"delete\##(id)",
          "summary":"Deletes one object.",
          "description":"Role admin.",
          "security":[{"bearer":[]}],
          \##(nameParameter),
          "responses":{
            "204":{"description":"The object was deleted."},
            \##(refusals(missing: true, conflict: true))
          }
        }
        """##
    }

    private static func put(id: String, shown: String, schema: String) -> String {
        ##"""
        "put":{
          "operationId":"put\##(id)",
          "summary":"Creates or replaces one object.",
          "description":"Role admin. Takes effect at once on every gateway.",
          "security":[{"bearer":[]}],
          \##(nameParameter),
          \##(body(schema: schema)),
          "responses":{
            \##(response(200, schema: shown, meaning: "The new object.")),
            \##(refusals(body: true, conflict: true))
          }
        }
        """##
    }

    static let catalogPaths = [
        list(.activityTypes, id: "ActivityTypes", of: "activity types"),
        object(.activityTypes, id: "ActivityType", shown: "activityType", put: "activityType"),
        list(.segments, id: "Segments", of: "segments"),
        object(.segments, id: "Segment", shown: "segment", put: "segmentRule"),
        list(.definitions, id: "Definitions", of: "notification definitions"),
        object(.definitions, id: "Definition", shown: "definition", put: nil),
    ].joined(separator: ",")

    static let catalogSchemas = #"""
        "items":{
          "type":"object",
          "required":["items"],
          "additionalProperties":false,
          "properties":{"items":{"type":"array"}}
        },
        "activityType":{
          "type":"object",
          "additionalProperties":false,
          "properties":{
            "name":{
              "$ref":"#/components/schemas/name",
              "description":"The same as in the path, or omitted."
            },
            "updateTokenTtl":{
              "type":"string",
              "pattern":"^[1-9][0-9]{0,9}(ms|s|m|h|d)$",
              "description":"The time after which an update token expires if no phone refreshes it, from 1m to 7d. The default is 24h."
            },
            "requiredAttributes":{
              "type":"array",
              "maxItems":100,
              "items":{"$ref":"#/components/schemas/name"}
            },
            "groupAttribute":{
              "$ref":"#/components/schemas/name",
              "description":"The attribute that carries the group to the phone. The default is netmeraGroupId."
            },
            "private":{
              "type":"boolean",
              "description":"Whether each group of the type belongs to one user."
            },
            "contentStateSchema":{"description":"See the page about schemas in the book."},
            "attributesSchema":{"description":"See the page about schemas in the book."},
            "layout":{
              "type":"object",
              "additionalProperties":false,
              "description":"How the console shows the type to people. Phones never get it.",
              "properties":{
                "title":{"$ref":"#/components/schemas/name"},
                "sides":{
                  "type":"array",
                  "minItems":2,
                  "maxItems":2,
                  "items":{
                    "type":"object",
                    "required":["score"],
                    "additionalProperties":false,
                    "properties":{
                      "score":{"$ref":"#/components/schemas/name"},
                      "name":{"$ref":"#/components/schemas/name"}
                    }
                  }
                },
                "progress":{
                  "type":"object",
                  "required":["field","end"],
                  "additionalProperties":false,
                  "properties":{
                    "field":{"$ref":"#/components/schemas/name"},
                    "end":{"type":"integer","minimum":1,"maximum":1000000}
                  }
                },
                "countdown":{"$ref":"#/components/schemas/name"},
                "lines":{"type":"array","maxItems":8,"items":{"$ref":"#/components/schemas/name"}},
                "steps":{
                  "type":"array",
                  "maxItems":6,
                  "items":{
                    "type":"object",
                    "required":["label","field","add"],
                    "additionalProperties":false,
                    "properties":{
                      "label":{"$ref":"#/components/schemas/name"},
                      "field":{"$ref":"#/components/schemas/name"},
                      "add":{"type":"integer","minimum":-100,"maximum":100}
                    }
                  }
                }
              }
            }
          }
        },
        "segmentRule":{
          "description":"The rule as the member rule, or the rule itself.",
          "anyOf":[
            {
              "type":"object",
              "required":["rule"],
              "additionalProperties":false,
              "properties":{"rule":{"$ref":"#/components/schemas/rule"}}
            },
            {"$ref":"#/components/schemas/rule"}
          ]
        },
        "segment":{
          "type":"object",
          "required":["name","rule"],
          "additionalProperties":false,
          "properties":{"name":{"type":"string"},"rule":{"$ref":"#/components/schemas/rule"}}
        },
        "rule":{
          "type":"object",
          "description":"A predicate over tags and attributes. See the page about segments in the book.",
          "minProperties":1
        },
        "definition":{
          "type":"object",
          "required":["notificationKey","createdAt"],
          "additionalProperties":false,
          "properties":{
            "notificationKey":{"type":"string"},
            "createdAt":{"type":"integer"},
            "groupId":{"type":"string"},
            "liveActAttrType":{"type":"string"},
            "title":{"type":"string"},
            "message":{"type":"string"},
            "liveActAttr":{"type":"object"},
            "contentState":{"type":"object"}
          }
        }
        """#
}
