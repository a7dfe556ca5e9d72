internal import CatalogRecords

// The calls about webhook endpoints.

extension OpenAPI {
    static let webhookPaths = ##"""
        "/v1/webhooks":{"get":{
          "operationId":"listWebhooks",
          "summary":"All webhook endpoints of the app.",
          "description":"Role admin.",
          "security":[{"bearer":[]}],
          "responses":{
            \##(response(200, schema: "webhooks", meaning: "All of them, by name.")),
            \##(refusals())
          }
        }},
        "/v1/webhooks/{name}":{
          "get":{
            "operationId":"showWebhook",
            "summary":"Shows one webhook endpoint.",
            "description":"Role admin.",
            "security":[{"bearer":[]}],
            "parameters":[{"$ref":"#/components/parameters/webhookName"}],
            "responses":{
              \##(response(200, schema: "webhook", meaning: "The current endpoint, without its secret.")),
              \##(refusals(missing: true))
            }
          },
          "put":{
            "operationId":"putWebhook",
            "summary":"Creates, replaces or enables one webhook endpoint.",
            "description":"Role admin. The answer to a creation has the secret that signs the calls, once. Later answers do not have it. An existing endpoint keeps its secret and is enabled.",
            "security":[{"bearer":[]}],
            "parameters":[{"$ref":"#/components/parameters/webhookName"}],
            \##(body(schema: "webhookBody")),
            "responses":{
              \##(response(200, schema: "webhook", meaning: "The new endpoint.")),
              \##(refusals(body: true, conflict: true))
            }
          },
          "delete":{
            "operationId":"deleteWebhook",
            "summary":"Deletes one webhook endpoint.",
            "description":"Role admin.",
            "security":[{"bearer":[]}],
            "parameters":[{"$ref":"#/components/parameters/webhookName"}],
            "responses":{
              "204":{"description":"The endpoint was deleted."},
              \##(refusals(missing: true, conflict: true))
            }
          }
        }
        """##

    private static let webhookTypes = WebhookEventType.allCases.map { "\"\($0.rawValue)\"" }.joined(
        separator: ",")

    static let webhookSchemas = ##"""
        "webhookBody":{
          "type":"object",
          "required":["url"],
          "additionalProperties":false,
          "properties":{
            "url":{
              "type":"string",
              "maxLength":\##(WebhookURL.bytesMax),
              "pattern":"^https://",
              "description":"The URL that is called. It must have a certificate that the installation trusts, and public addresses."
            },
            "events":{
              "type":"array",
              "minItems":1,
              "maxItems":\##(WebhookEventType.allCases.count),
              "items":{"type":"string","enum":[\##(webhookTypes)]},
              "description":"The types of events that it receives. Without it these are all."
            }
          }
        },
        "webhook":{
          "type":"object",
          "required":["name","url","events","createdAt","secretCreatedAt"],
          "additionalProperties":false,
          "properties":{
            "name":{"type":"string"},
            "url":{"type":"string"},
            "events":{"type":"array","items":{"type":"string"}},
            "createdAt":{"type":"integer","description":"Milliseconds since 1970. It receives events from then on."},
            "secretCreatedAt":{"type":"integer","description":"Milliseconds since 1970."},
            "disabledAt":{"type":"integer","description":"Milliseconds since 1970. It is missing while the endpoint is called."},
            "disabledBecause":{"type":"string"},
            "replayedAt":{"type":"integer","description":"Milliseconds since 1970. The time of the newest replay."},
            "secret":{"type":"string","description":"Only in the answer to a creation: whsec_ and the key in Base64."}
          }
        },
        "webhooks":{
          "type":"object",
          "required":["items"],
          "additionalProperties":false,
          "properties":{"items":{"type":"array","items":{"$ref":"#/components/schemas/webhook"}}}
        }
        """##
}
